package store_test

import (
	"bytes"
	"sync"
	"testing"
	"time"

	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/store"
)

// largeBloom makes a BF whose first layer has about so many MiB, and fills a
// few items in.
func largeBloom(t *testing.T, s *store.State, name string, mib uint64) *contents.Part {
	t.Helper()
	params := redisbloom.BloomParams{ErrorRate: 0.01, Capacity: mib << 20 * 8 / 11, Expansion: 2}
	res := apply(t, s, store.Record{Body: &store.MakeBloom{Name: []byte(name), Params: params}})
	if res.Err != nil {
		t.Fatal(res.Err)
	}
	apply(t, s, store.Record{ID: res.Entry.ID, Body: &store.BloomAdd{Room: store.Unlimited, Digests: digests(1000)}})
	return contents.PartOf(res.Entry)
}

func remove(t *testing.T, s *store.State, name string) {
	t.Helper()
	if res := apply(t, s, store.Record{Body: &store.Remove{Names: [][]byte{[]byte(name)}}}); res.N != 1 {
		t.Fatalf("removed %d, want 1", res.N)
	}
}

// unmapped waits until the arrays of a state are given back.
func unmapped(t *testing.T, s *store.State) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); s.Mapped() != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d bytes are still mapped", s.Mapped())
		}
	}
}

// TestLargeArraysAreMapped asks that arrays of 256 KiB and more, and no others, are
// outside of the heap, and are given back when the filter goes by whatever way.
func TestLargeArraysAreMapped(t *testing.T) {
	s := store.New()
	apply(t, s, store.Record{Body: &store.MakeBloom{Name: []byte("small"), Params: redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 1000, Expansion: 2}}})
	if s.Mapped() != 0 {
		t.Errorf("a small filter maps %d bytes", s.Mapped())
	}
	part := largeBloom(t, s, "a", 2)
	if got := uint64(s.Mapped()); got < 2<<20 || got > part.Bytes() {
		t.Errorf("%d bytes are mapped, the filter has %d", got, part.Bytes())
	}
	remove(t, s, "a")
	unmapped(t, s)
	largeBloom(t, s, "a", 2)
	apply(t, s, store.Record{Body: &store.Flush{}})
	unmapped(t, s)
	largeBloom(t, s, "a", 2)
	apply(t, s, store.Record{Body: &store.Set{String: store.String{Name: []byte("a")}}}) // overwritten
	unmapped(t, s)
	largeBloom(t, s, "b", 2)
	apply(t, s, store.Record{Body: &store.Rename{From: []byte("a"), To: []byte("b")}})
	unmapped(t, s)
	largeBloom(t, s, "c", 2)
	apply(t, s, store.Record{Body: &store.Expire{Name: []byte("c"), Deadline: 5}})
	apply(t, s, store.Record{At: 6, Body: &store.Evict{IDs: ids(1, 100)}})
	unmapped(t, s)
	// A cuckoo filter that grows by sub-filters and is compacted.
	res := apply(t, s, store.Record{Body: &store.MakeCuckoo{Name: []byte("c"), Params: redisbloom.CuckooParams{Capacity: 1 << 20, BucketSize: 1, MaxIterations: 1, Expansion: 1}}})
	insert := &store.CuckooInsert{Room: store.Unlimited}
	for range 4 {
		insert.Hashes = append(insert.Hashes, 7)
	}
	apply(t, s, store.Record{ID: res.Entry.ID, Body: insert})
	if s.Mapped() < 2<<20 {
		t.Errorf("%d bytes are mapped of two sub-filters", s.Mapped())
	}
	apply(t, s, store.Record{ID: res.Entry.ID, Body: &store.CuckooDelete{Hashes: insert.Hashes}})
	apply(t, s, store.Record{ID: res.Entry.ID, Body: &store.CuckooCompact{}})
	for deadline := time.Now().Add(30 * time.Second); s.Mapped() > 1<<20 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if s.Mapped() != 1<<20 {
		t.Errorf("%d bytes are mapped after a compaction to one sub-filter", s.Mapped())
	}
	s.Discard()
	unmapped(t, s)
	if s.Bytes() != 0 {
		t.Errorf("%d bytes are counted after Discard", s.Bytes())
	}
}

// TestHolders removes a filter that several hold: they read what was in it, and
// the last one gives the memory back.
func TestHolders(t *testing.T) {
	s := store.New()
	part := largeBloom(t, s, "k", 2)
	part.RLock()
	part.Hold()
	part.Hold()
	want := dump(part.Contents())
	part.RUnlock()
	part.Lock()
	frozen, err := part.Contents().Freeze()
	part.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	remove(t, s, "k")
	part.Unhold()
	if s.Mapped() == 0 {
		t.Fatal("the memory is gone while somebody holds it")
	}
	part.RLock()
	if !part.Gone() || !bytes.Equal(dump(part.Contents()), want) {
		t.Error("a holder reads something else than was there")
	}
	part.RUnlock()
	part.Unhold() // the copy holds it still
	part.RLock()
	read := 0
	for {
		data, _ := frozen.Next(make([]byte, 64<<10))
		if len(data) == 0 {
			break
		}
		read += len(data)
	}
	part.RUnlock()
	if int64(read) != frozen.Size() || s.Mapped() == 0 {
		t.Errorf("the copy gives %d bytes of %d, %d are mapped", read, frozen.Size(), s.Mapped())
	}
	part.Lock()
	_ = frozen.Close()
	part.Unlock()
	unmapped(t, s)
}

// TestReadDuringRemoval reads filters while they are removed and made again: a
// reader finds all that was added, or that the filter is gone.
func TestReadDuringRemoval(t *testing.T) {
	s := store.New()
	name := []byte("k")
	asked := digests(1000)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			found := make([]bool, len(asked))
			for {
				select {
				case <-stop:
					return
				default:
				}
				e := s.Names.Lookup(name, 0)
				if e == nil {
					continue
				}
				p := contents.PartOf(e)
				_ = p.Bloom().Narrow() // without a lock
				p.RLock()
				if i == 0 && !p.Gone() {
					p.Hold()
					p.RUnlock()
					p.RLock()
					_ = dump(p.Contents())
					p.RUnlock()
					p.Unhold()
					continue
				}
				if !p.Gone() && p.Bloom().Items() > 0 {
					p.Bloom().ContainsDigests(found, asked)
					for i, ok := range found {
						if !ok {
							t.Errorf("item %d is missing", i)
							p.RUnlock()
							return
						}
					}
				}
				p.RUnlock()
			}
		})
	}
	for range 10 {
		largeBloom(t, s, "k", 2)
		time.Sleep(time.Millisecond)
		remove(t, s, "k")
	}
	close(stop)
	wg.Wait()
	unmapped(t, s)
}

// TestNoMemory asks that a filter that the system has no memory for changes
// nothing, not even an entry that has expired.
func TestNoMemory(t *testing.T) {
	s := store.New()
	apply(t, s, store.Record{Body: &store.Set{String: store.String{Name: []byte("k")}, Deadline: 5}})
	before := state(s)
	huge := store.Record{At: 6, Body: &store.MakeBloom{Name: []byte("k"), Params: redisbloom.BloomParams{ErrorRate: 1e-300, Capacity: redisbloom.MaxCapacity, Expansion: 2}}}
	if size, err := store.NewBytes(huge.Body); err != nil || size < 100<<30 {
		t.Skipf("the largest filter has %d bytes", size)
	}
	res := apply(t, s, huge)
	if res.Err == nil {
		t.Skip("there is so much memory")
	}
	if res.Changed || !bytes.Equal(state(s), before) || s.Mapped() != 0 {
		t.Errorf("%v: something has changed", res.Err)
	}
}
