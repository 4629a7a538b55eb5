package redisbloom_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/internal/redisbloom"
)

// filledTopK returns a sketch with so many items.
func filledTopK(t *testing.T, k int, m *memory.Arena) *redisbloom.TopK {
	t.Helper()
	s := newTopK(t, redisbloom.TopKParams{K: uint32(k), Width: 10, Depth: 2, Decay: 0.9, Memory: m})
	var slots []byte
	for i := range k {
		slots = redisbloom.AppendTopKSlot(slots, uint32(i), uint32(1+i/2), fmt.Appendf(nil, "item %d", i))
	}
	if err := s.LoadSlots(0, slots); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestForksOfTopK asks that nothing of the slots is copied when a sketch is frozen, listed or dumped, with its lock held,
// and that all of these are the sketch of that moment.
func TestForksOfTopK(t *testing.T) {
	const k = 20_000
	m := &memory.Arena{}
	s := filledTopK(t, k, m)
	want, wantHeader := whole(s.MarshalBinary()), s.AppendHeader(nil)
	var z *redisbloom.Frozen
	var header func() []byte
	all := s.All()
	if n := allocated(func() { z, _ = s.Freeze(); header, all = s.Header(), s.All() }); n > uint64(len(want))/10 {
		t.Errorf("%d bytes are made for copies of %d", n, len(want))
	}
	if size := len(wantHeader) - 40; m.Kept() != int64(size) {
		t.Errorf("%d bytes are counted for a copy with slots of %d", m.Kept(), size)
	}
	for i := range 300 {
		_, _, _ = s.Incr(item(i), 50_000)
	}
	if got := whole(io.ReadAll(z)); !bytes.Equal(got, want) {
		t.Error("the snapshot is not the sketch of before")
	}
	if !bytes.Equal(header(), wantHeader) {
		t.Error("the header is not that of the sketch of before")
	}
	n, last := 0, uint32(k)
	for item, count := range all {
		if n++; count > last || string(item[:5]) != "item " {
			t.Fatalf("item %d is %q with a count of %d behind %d", n, item, count, last)
		}
		last = count
	}
	if got := s.Stats().Items; n != k || got != k || bytes.Equal(whole(s.MarshalBinary()), want) {
		t.Errorf("%d items are listed, and %d counted, want %d, or nothing has changed", n, got, k)
	}
	if _ = z.Close(); m.Kept() != 0 {
		t.Errorf("%d bytes are counted of a copy that has ended", m.Kept())
	}
}

// TestListsAreReadMeanwhile has many readers list a sketch between changes, and read their lists during others.
func TestListsAreReadMeanwhile(t *testing.T) {
	s := filledTopK(t, 1000, nil)
	rng := rand.New(rand.NewPCG(3, 4))
	var lock sync.RWMutex
	var readers sync.WaitGroup
	for range 50 {
		for range 2 {
			readers.Go(func() {
				lock.RLock()
				all, items := s.All(), s.Stats().Items
				lock.RUnlock()
				n := 0
				for range all {
					n++
				}
				if n != items {
					t.Errorf("%d items are listed, there were %d", n, items)
				}
			})
		}
		lock.Lock()
		for range 20 {
			_, _, _ = s.Incr(item(rng.IntN(5000)), 1000)
		}
		lock.Unlock()
	}
	readers.Wait()
	loaded := newTopK(t, redisbloom.TopKParams{K: 1, Width: 1, Depth: 1, Decay: 1})
	if err := loaded.UnmarshalBinary(whole(s.MarshalBinary())); err != nil || loaded.Stats() != s.Stats() {
		t.Errorf("%+v comes back as %+v, %v", s.Stats(), loaded.Stats(), err)
	}
	d := s.Dump()
	if !slices.ContainsFunc(d.Items, func(i []byte) bool { return bytes.HasPrefix(i, []byte("item ")) }) {
		t.Error("a dump has none of the items")
	}
}

func whole(data []byte, _ error) []byte { return data }
