package cuckoo_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/cuckoo"
)

// TestMemoryByBitsPerKey asks that a filter takes no more memory than it may, as much of it as
// makes a lower rate, and that too little is refused.
func TestMemoryByBitsPerKey(t *testing.T) {
	for _, capacity := range []int{1, 1000, 100_000} {
		bits := 12.0
		if capacity == 1 {
			bits = 200 // two buckets at least
		}
		f, err := cuckoo.Config{Capacity: capacity, BitsPerKey: bits}.New()
		if err != nil {
			t.Fatalf("capacity %d: %v", capacity, err)
		}
		s := f.Stats()
		if total := bits * float64(capacity); float64(s.Bits) > total {
			t.Errorf("capacity %d: %d bits, want at most %g", capacity, s.Bits, total)
		}
		if capacity < 1000 {
			continue
		}
		if float64(s.Bits) < 11*float64(capacity) {
			t.Errorf("capacity %d: %d bits of 12 for each key", capacity, s.Bits)
		}
		more, err := cuckoo.Config{Capacity: capacity, BitsPerKey: bits + 4}.New()
		if err != nil || !(more.Stats().Asked < s.Asked/4) {
			t.Errorf("capacity %d: a rate of %g with 4 bits more, %g without: %v", capacity, more.Stats().Asked, s.Asked, err)
		}
	}
	// Bits that a size takes to the last one are enough for it.
	exact := cuckoo.New(1024, 0.01).Stats()
	if f, err := (cuckoo.Config{Capacity: 1024, BitsPerKey: float64(exact.Bits) / 1024}).New(); err != nil || f.Stats().Bits != exact.Bits {
		t.Errorf("%d bits: %+v, %v", exact.Bits, f.Stats(), err)
	}
	for _, c := range []cuckoo.Config{
		{Capacity: 0, BitsPerKey: 12}, {Capacity: -1, BitsPerKey: 12}, {Capacity: 1000, BitsPerKey: 1},
		{Capacity: 1000, BitsPerKey: 12, ErrorRate: 0.01}, {Capacity: 1000, BitsPerKey: 12, Buckets: 500, Width: 8},
	} {
		if f, err := c.New(); !errors.Is(err, bloomery.ErrParameter) || f != nil {
			t.Errorf("%+v: %v, %v, want ErrParameter", c, f, err)
		}
	}
}

// TestInsertMany inserts by all batch calls until there is no room: each returns how
// many are in.
func TestInsertMany(t *testing.T) {
	keys := make([][]byte, 1000)
	hs := make([]uint64, len(keys))
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "key %d", i)
		hs[i] = cuckoo.New(10, 0.01).Hash(keys[i])
	}
	for name, insert := range map[string]func(f *cuckoo.Filter, n int) (int, error){
		"InsertHashes": func(f *cuckoo.Filter, n int) (int, error) { return f.InsertHashes(hs[:n]) },
		"InsertKeys":   func(f *cuckoo.Filter, n int) (int, error) { return f.InsertKeys(keys[:n]) },
		"InsertSeq":    func(f *cuckoo.Filter, n int) (int, error) { return f.InsertSeq(slices.Values(keys[:n])) },
	} {
		f := cuckoo.New(100, 0.01)
		if n, err := insert(f, 100); n != 100 || err != nil || f.Stats().Items != 100 {
			t.Errorf("%s of 100 = %d, %v, there are %d", name, n, err, f.Stats().Items)
		}
		n, err := insert(f, len(keys))
		if !errors.Is(err, bloomery.ErrFull) || n == 0 || n == len(keys) || f.Stats().Items != uint64(100+n) {
			t.Errorf("%s of too many = %d, %v, there are %d", name, n, err, f.Stats().Items)
		}
		for i := range n {
			if !f.ContainsHash(hs[i]) {
				t.Fatalf("%s: key %d is not there", name, i)
			}
		}
	}
}

// TestZeroFilter asks of a filter that was not made.
func TestZeroFilter(t *testing.T) {
	var f cuckoo.Filter
	if f.ContainsHash(1) || f.CountHash(1) != 0 || f.MaxCount() != 8 {
		t.Error("a zero filter has a key")
	}
	if data, err := f.MarshalBinary(); err == nil || data != nil {
		t.Errorf("the encoding of a zero filter: %d bytes, %v", len(data), err)
	}
	if n, err := f.WriteTo(io.Discard); err == nil || n != 0 {
		t.Errorf("writing a zero filter: %d bytes, %v", n, err)
	}
	made := cuckoo.New(10, 0.01)
	if n, err := made.WriteTo(io.Discard); err != nil || n != int64(len(encoded(made))) {
		t.Errorf("writing an empty filter: %d bytes, %v", n, err)
	}
	for name, change := range map[string]func(){
		"InsertHashes": func() { _, _ = f.InsertHashes(nil) }, "InsertKeys": func() { _, _ = f.InsertKeys(nil) },
		"InsertSeq": func() { _, _ = f.InsertSeq(slices.Values([][]byte{})) }, "DeleteHash": func() { f.DeleteHash(1) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s of a zero filter does not panic", name)
				}
			}()
			change()
		}()
	}
}
