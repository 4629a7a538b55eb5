package filtertest

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/bloomery/bloomery"
)

// shortDst asks for more answers than dst has places: every batch must panic
// before it writes or adds anything, also where the array behind dst is long
// enough.
func shortDst(t *testing.T, k Kind) {
	const n = 1000
	f := k.must(t, hashes(n, 50)[:n/2], n, 1e-2)
	ShortDst(t, f)
	if k.View == nil {
		return
	}
	v, err := k.View(encode(t, f))
	if err != nil {
		t.Fatal(err)
	}
	ShortDst(t, v)
}

// ShortDst tests the law of short slices on a filter or view: batches of
// hashes and of keys panic if dst is shorter, and write nothing.
func ShortDst(t *testing.T, f bloomery.Hashed) {
	t.Helper()
	var before []byte
	if _, encodes := f.(interface{ MarshalBinary() ([]byte, error) }); encodes {
		before = snapshot(t, f)
	}
	for _, n := range []int{1, 2, 5, 70, 300, 5000} {
		hs := hashes(n, 51)
		keys := make([][]byte, n)
		for i := range keys {
			keys[i] = fmt.Appendf(nil, "key %d", i)
		}
		for name, batch := range batches(f, hs, keys) {
			for _, have := range []int{0, n / 2, n - 1} {
				all := slices.Repeat([]bool{true, false}, n)
				want := slices.Clone(all)
				if panics(func() { batch(all[:have]) }) == nil {
					t.Errorf("%T: %s of %d with %d places does not panic", f, name, n, have)
				}
				if !slices.Equal(all, want) {
					t.Errorf("%T: %s of %d with %d places writes before it panics", f, name, n, have)
				}
			}
		}
	}
	if before != nil && !bytes.Equal(before, snapshot(t, f)) {
		t.Errorf("%T: a batch with a short dst changed the filter", f)
	}
}

// batches returns all calls of f that take a dst.
func batches(f any, hs []uint64, keys [][]byte) map[string]func(dst []bool) {
	all := map[string]func(dst []bool){}
	if x, ok := f.(interface{ ContainsHashes([]bool, []uint64) }); ok {
		all["ContainsHashes"] = func(dst []bool) { x.ContainsHashes(dst, hs) }
	}
	if x, ok := f.(interface{ ContainsKeys([]bool, [][]byte) }); ok {
		all["ContainsKeys"] = func(dst []bool) { x.ContainsKeys(dst, keys) }
	}
	if x, ok := f.(interface{ AddHashes([]bool, []uint64) }); ok {
		all["AddHashes"] = func(dst []bool) { x.AddHashes(dst, hs) }
	}
	if x, ok := f.(interface{ AddKeys([]bool, [][]byte) }); ok {
		all["AddKeys"] = func(dst []bool) { x.AddKeys(dst, keys) }
	}
	return all
}

// insertBatches inserts by every batch call, which must do what single inserts
// do, and stop where they fail.
func insertBatches(t *testing.T, k Kind) {
	type inserter interface {
		bloomery.Hashed
		Insert(key []byte) error
		InsertHashes(hs []uint64) (int, error)
		InsertKeys(keys [][]byte) (int, error)
		InsertSeq(seq iter.Seq[[]byte]) (int, error)
	}
	const n = 200
	keys := make([][]byte, 20*n) // some kinds are full before the end
	hs := make([]uint64, len(keys))
	single, ok := k.must(t, nil, n, 1e-2).(bloomery.Inserter)
	if !ok {
		return
	}
	want, wantErr := 0, error(nil)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "key %d", i)
		hs[i] = single.(bloomery.Hashed).Hash(keys[i])
		if wantErr == nil {
			if wantErr = single.InsertHash(hs[i]); wantErr == nil {
				want++
			}
		}
	}
	data := snapshot(t, single)
	for name, insert := range map[string]func(f inserter) (int, error){
		"InsertHashes": func(f inserter) (int, error) { return f.InsertHashes(hs) },
		"InsertKeys":   func(f inserter) (int, error) { return f.InsertKeys(keys) },
		"InsertSeq":    func(f inserter) (int, error) { return f.InsertSeq(slices.Values(keys)) },
	} {
		f, ok := k.must(t, nil, n, 1e-2).(inserter)
		if !ok {
			t.Fatalf("%T has not all of InsertHashes, InsertKeys and InsertSeq", single)
		}
		got, err := insert(f)
		if got != want || fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Errorf("%s = %d, %v, want %d, %v", name, got, err, want, wantErr)
		}
		if !bytes.Equal(snapshot(t, f), data) {
			t.Errorf("%s gives another filter than single inserts", name)
		}
	}
}
