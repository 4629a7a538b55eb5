package cuckoo_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/cuckoo"
	"github.com/bloomery/bloomery/hashing"
)

// hashes returns n hashes; different seeds give different ones.
func hashes(n int, seed uint64) []uint64 {
	hs := make([]uint64, n)
	h := hashing.Seeded(seed)
	for i := range hs {
		hs[i] = h.HashUint64(uint64(i))
	}
	return hs
}

// shaped returns a filter of a given shape.
func shaped(tb testing.TB, buckets uint64, width int) *cuckoo.Filter {
	tb.Helper()
	f, err := cuckoo.Config{Buckets: buckets, Width: width}.New()
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// encoded returns the encoding of f.
func encoded(f interface{ MarshalBinary() ([]byte, error) }) []byte {
	data, _ := f.MarshalBinary() // never an error
	return data
}

// fillUp inserts keys until one is refused and returns those that were not.
func fillUp(f *cuckoo.Filter, seed uint64) []uint64 {
	h := hashing.Seeded(seed)
	var in []uint64
	for i := uint64(0); ; i++ {
		x := h.HashUint64(i)
		if err := f.InsertHash(x); err != nil {
			return in
		}
		in = append(in, x)
	}
}

// lost returns how many keys the filter denies.
func lost(f bloomery.Hashed, hs []uint64) (n int) {
	dst := make([]bool, len(hs))
	f.ContainsHashes(dst, hs)
	for i, h := range hs {
		if !dst[i] || !f.ContainsHash(h) {
			n++
		}
	}
	return n
}

// Tables of about 1,000 slots and more are filled to 95% before the first key
// is refused, whatever their number of buckets is.
func TestLoad(t *testing.T) {
	limit := uint64(30_000)
	if testing.Short() {
		limit = 800
	}
	for buckets := uint64(256); buckets < limit; buckets += buckets/9 + 2 {
		for _, width := range []int{7, 8, 12, 13, 16, 19, 32} {
			f := shaped(t, buckets, width)
			in := fillUp(f, buckets)
			if load := f.Stats().Saturation; load < 0.95 {
				t.Errorf("%d buckets, width %d: full at load %.4f", f.Shape().Buckets, width, load)
			}
			if got := lost(f, in); got > 0 {
				t.Errorf("%d buckets, width %d: %d of %d keys forgotten", buckets, width, got, len(in))
			}
		}
	}
}

// A large table is filled to 97%, with few bits per key at 95%.
func TestBitsPerKey(t *testing.T) {
	for width, limit := range map[int]float64{8: 8.5, 12: 12.8, 16: 17} {
		f := shaped(t, 20_000, width)
		slots := float64(f.Shape().Slots())
		if got := float64(f.Stats().Bytes*8) / (0.95 * slots); got > limit {
			t.Errorf("width %d: %.2f bits per key at 95%%, want at most %g", width, got, limit)
		}
		if in := fillUp(f, 3); float64(len(in)) < 0.965*slots {
			t.Errorf("width %d: full with %d keys in %g slots", width, len(in), slots)
		}
	}
}

// A filter made for n keys takes n different keys. One in a million may fail,
// so none of these, whose keys are always the same, does.
func TestCapacity(t *testing.T) {
	limit, filters := 3000, 600
	if testing.Short() {
		limit, filters = 300, 100
	}
	for n := 1; n < limit; n += 1 + n/12 {
		for _, p := range []float64{0.5, 0.05, 0.01, 1e-5} {
			f, seeds := cuckoo.New(n, p), max(3, filters/(n/8+1))
			for seed := range seeds {
				f.Clear()
				for i, h := range hashes(n, uint64(seed)<<32+uint64(n)) {
					if err := f.InsertHash(h); err != nil {
						t.Fatalf("n = %d, p = %g, filter %d: key %d: %v", n, p, seed, i, err)
					}
				}
			}
			if s := f.Stats(); s.Items != uint64(n) || s.Predicted > p {
				t.Errorf("n = %d, p = %g: %d items, predicted rate %g", n, p, s.Items, s.Predicted)
			}
		}
	}
}

// An insert that is refused leaves the filter byte for byte as it was, and all
// keys in it; deletes make room again.
func TestFullChangesNothing(t *testing.T) {
	for _, c := range []struct {
		buckets uint64
		width   int
	}{{2, 8}, {4, 4}, {6, 11}, {100, 5}, {300, 8}, {300, 13}, {300, 16}, {300, 20}, {300, 32}} {
		f := shaped(t, c.buckets, c.width)
		in := fillUp(f, 1)
		before := encoded(f)
		refused := 0
		for _, h := range hashes(60, 2) {
			err := f.InsertHash(h)
			if err == nil {
				in = append(in, h)
				before = encoded(f)
				continue
			}
			refused++
			if !errors.Is(err, bloomery.ErrFull) || !bytes.Equal(encoded(f), before) {
				t.Fatalf("%+v: %v, and the filter has changed: %v", c, err, !bytes.Equal(encoded(f), before))
			}
		}
		if got := lost(f, in); got > 0 || refused == 0 {
			t.Errorf("%+v: %d of %d keys forgotten after %d were refused", c, got, len(in), refused)
		}
		for i, h := range in {
			if !f.DeleteHash(h) {
				t.Fatalf("%+v: key %d of %d cannot be deleted", c, i, len(in))
			}
		}
		if !bytes.Equal(encoded(f), encoded(shaped(t, c.buckets, c.width))) {
			t.Errorf("%+v: all keys are deleted and the filter is not as it was at first", c)
		}
	}
}

// Copies of one key fill both of its buckets and no more.
func TestCopies(t *testing.T) {
	for _, width := range []int{8, 13, 16, 24, 32} {
		f := shaped(t, 50_000, width) // so many that no other key has both buckets
		for i := range 8 {
			if err := f.InsertString("again"); err != nil {
				t.Fatalf("width %d: copy %d: %v", width, i+1, err)
			}
			if got := f.CountString("again"); got != uint64(i+1) {
				t.Errorf("width %d: count %d after %d copies", width, got, i+1)
			}
		}
		before := encoded(f)
		if err := f.InsertString("again"); !errors.Is(err, bloomery.ErrFull) || !bytes.Equal(encoded(f), before) {
			t.Errorf("width %d: ninth copy: %v, want ErrFull and no change", width, err)
		}
		in := hashes(3000, 4)
		for _, h := range in {
			if err := f.InsertHash(h); err != nil {
				t.Fatalf("width %d: another key: %v", width, err)
			}
		}
		for i := 8; i > 0; i-- {
			if got := f.CountString("again"); got < uint64(i) {
				t.Errorf("width %d: count %d of %d copies", width, got, i)
			}
			if !f.DeleteString("again") {
				t.Fatalf("width %d: copy %d cannot be deleted", width, i)
			}
		}
		if got := lost(f, in); got > 0 {
			t.Errorf("width %d: %d keys forgotten", width, got)
		}
	}
}

// The spellings of every verb mean the same key.
func TestSpellings(t *testing.T) {
	f := cuckoo.New(100, 1e-6)
	key := []byte("alice")
	h := f.Hash(key)
	for _, err := range []error{f.Insert(key), f.InsertString("alice"), f.InsertHash(h)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	dst := make([]bool, 2)
	f.ContainsKeys(dst, [][]byte{key, []byte("bob")})
	if !f.Contains(key) || !f.ContainsString("alice") || !f.ContainsHash(h) || !dst[0] || dst[1] {
		t.Errorf("Contains = %v, %v, %v, ContainsKeys = %v", f.Contains(key), f.ContainsString("alice"), f.ContainsHash(h), dst)
	}
	if a, b, c := f.Count(key), f.CountString("alice"), f.CountHash(h); a != 3 || b != 3 || c != 3 {
		t.Errorf("counts %d, %d, %d, want 3", a, b, c)
	}
	if !f.Delete(key) || !f.DeleteString("alice") || !f.DeleteHash(h) || f.Delete(key) {
		t.Error("three copies are not deleted by three spellings")
	}
}

// Batches of keys are cut where they are longer than the room for their
// hashes.
func TestContainsKeys(t *testing.T) {
	f := cuckoo.New(1000, 1e-6)
	keys := make([][]byte, 1000)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "key %d", i)
		if err := f.Insert(keys[i]); i%2 == 0 && err != nil {
			t.Fatal(err)
		} else if i%2 == 1 {
			f.Delete(keys[i])
		}
	}
	dst := make([]bool, len(keys)+1)
	dst[len(keys)] = true
	f.ContainsKeys(dst, keys)
	for i, yes := range dst[:len(keys)] {
		if yes != (i%2 == 0) {
			t.Fatalf("key %d: %v", i, yes)
		}
	}
	dst[0] = false
	if f.ContainsKeys(dst[:1], keys[:1]); !dst[0] {
		t.Error("ContainsKeys of one key denies it")
	}
	if !dst[len(keys)] {
		t.Error("ContainsKeys wrote behind the last answer")
	}
}

// Inserts allocate nothing, those that must move others at a high load too;
// filtertest sees to the lookups.
func TestNoAllocations(t *testing.T) {
	f := cuckoo.New(10_000, 0.01)
	hs := hashes(10_000, 6)
	for _, h := range hs[:9900] {
		if err := f.InsertHash(h); err != nil {
			t.Fatal(err)
		}
	}
	i := 0
	if got := testing.AllocsPerRun(1, func() {
		for range 50 {
			if err := f.InsertHash(hs[9900+i]); err != nil {
				t.Fatal(err)
			}
			i++
		}
		for range 10 {
			f.DeleteHash(hs[i])
			f.CountHash(hs[i])
		}
	}); got > 0 {
		t.Errorf("inserts and deletes allocate %v times", got)
	}
}
