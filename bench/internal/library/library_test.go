package library_test

import (
	"testing"

	"github.com/bloomery/bloomery/bench/internal/library"
	"github.com/bloomery/bloomery/internal/measuring"
)

// Every adapter must do what its table says: keep keys, round-trip, and give
// the memory that it works on.
func TestAdapters(t *testing.T) {
	for _, l := range library.All() {
		t.Run(l.Name, func(t *testing.T) {
			t.Parallel()
			fresh := func() library.Filter {
				f, err := l.Make(1000, 0.01)
				if err != nil {
					t.Fatalf("Make: %v", err)
				}
				return f
			}
			plan := measuring.Plan{Keys: measuring.KeyKinds()[0], N: 1000, Filters: 3, Queries: 30_000}
			rate := measuring.Run(plan, func() measuring.Subject { return fresh().Subject })
			if rate.Lost != 0 || rate.Mean > 0.05 {
				t.Errorf("lost %d keys, rate %g", rate.Lost, rate.Mean)
			}
			if l.Decode != nil {
				roundTrip(t, l, fresh())
			}
			if l.Array == nil {
				return
			}
			if array, ok := l.Array(1<<20, 8); ok {
				usesItsMemory(t, array)
			}
		})
	}
}

func TestSharedArrays(t *testing.T) {
	for _, l := range library.Shared() {
		array, ok := l.Array(1<<20, 8)
		if !ok {
			t.Fatalf("%s has no array of 1 MiB", l.Name)
		}
		usesItsMemory(t, array)
	}
}

func roundTrip(t *testing.T, l library.Library, f library.Filter) {
	t.Helper()
	keys := [][]byte{[]byte("alice"), []byte("bob")}
	f.Add(keys)
	data, err := f.Encode()
	if err != nil {
		t.Fatalf("Encode: %v", err)
	}
	g, err := l.Decode(data)
	if err != nil {
		t.Fatalf("Decode: %v", err)
	}
	var dst [2]bool
	g.Contains(dst[:], keys)
	if !dst[0] || !dst[1] {
		t.Errorf("after a round trip %v are there, want both", dst)
	}
}

// usesItsMemory sets all bits and expects yes to every call that asks.
func usesItsMemory(t *testing.T, a library.Array) {
	t.Helper()
	if got, want := len(a.Words), 1<<17; got < want-1 || got > want+1 {
		t.Errorf("the array has %d words, want %d", got, want)
	}
	for _, full := range []bool{false, true} {
		if full {
			for i := range a.Words {
				a.Words[i] = ^uint64(0)
			}
		}
		ask := func(call library.Call, contains func(dst []bool)) {
			var dst [2]bool
			contains(dst[:])
			if dst != [2]bool{full, full} {
				t.Errorf("%s of an array that is full (%v) = %v", call, full, dst)
			}
		}
		for _, call := range []library.Call{library.HasOne, library.HasBatch} {
			if has := a.Hashes[call]; has != nil {
				ask(call, func(dst []bool) { has(dst, []uint64{1 << 40, 2 << 40}) })
			}
			if has := a.Ints[call]; has != nil {
				ask(call, func(dst []bool) { has(dst, []uint64{1, 2}) })
			}
			if has := a.Keys[call]; has != nil {
				ask(call, func(dst []bool) { has(dst, [][]byte{[]byte("a"), []byte("b")}) })
			}
		}
	}
}
