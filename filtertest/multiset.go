package filtertest

import (
	"bytes"
	"encoding"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/bloomery/bloomery"
)

// copies is how often a key is in a multiset at most: a cuckoo filter has room
// for 8 of a key.
const copies = 4

// multiset is a filter that keys are put into one by one.
type multiset interface {
	bloomery.Hashed
	bloomery.Inserter
}

// multisets runs the laws of the kinds that insert.
func multisets(t *testing.T, k Kind) {
	if _, ok := k.must(t, nil, 10, 1e-2).(multiset); !ok {
		t.Skip("not an Inserter")
	}
	t.Run("History", func(t *testing.T) { history(t, k) })
	t.Run("Absent", func(t *testing.T) { deleteAbsent(t, k) })
	t.Run("Overfull", func(t *testing.T) { overfull(t, k) })
}

// history runs a random history of inserts and deletes beside an exact
// multiset: no key is ever forgotten, counts are upper bounds, and in the end,
// with all keys deleted, nothing is left.
func history(t *testing.T, k Kind) {
	const n, p = 2000, 1e-3
	most := uint64(n)
	if k.Distinct {
		most = n / 2
	}
	steps := 40_000
	if testing.Short() {
		steps = 10_000
	}
	f, twin := k.must(t, nil, n, p).(multiset), k.must(t, nil, n, p).(multiset)
	deleter, deletes := f.(bloomery.Deleter)
	counter, counts := f.(bloomery.Counter)
	r := rand.New(rand.NewPCG(1, 40))
	hs, members := hashes(n, 41), map[uint64]uint64{}
	var items uint64
	insert := func(h uint64) {
		if err := f.InsertHash(h); err != nil {
			t.Fatalf("insert with %d of %d keys: %v", items, n, err)
		}
		if err := twin.InsertHash(h); err != nil {
			t.Fatalf("the same history once more: %v", err)
		}
		members[h]++
		items++
	}
	remove := func(h uint64) {
		if !deleter.DeleteHash(h) {
			t.Fatalf("delete of key %#x, which is there %d times, was refused", h, members[h])
		}
		twin.(bloomery.Deleter).DeleteHash(h)
		members[h]--
		items--
	}
	check := func(h uint64) {
		if members[h] > 0 && !f.ContainsHash(h) {
			t.Fatalf("key %#x, which is there %d times, is forgotten", h, members[h])
		}
		if counts && counter.CountHash(h) < members[h] {
			t.Fatalf("key %#x: count %d, it is there %d times", h, counter.CountHash(h), members[h])
		}
	}
	for range steps {
		h := hs[r.IntN(n)]
		switch {
		case items < most && members[h] < copies && (!deletes || r.IntN(5) > 0):
			insert(h)
		case deletes && members[h] > 0:
			remove(h)
		}
		check(h)
		check(hs[r.IntN(n)])
	}
	for _, h := range hs {
		check(h)
	}
	if k.Decode != nil && !bytes.Equal(encode(t, f), encode(t, twin)) {
		t.Error("the same history gave two different encodings")
	}
	if !deletes {
		return
	}
	for _, h := range hs {
		for members[h] > 0 {
			remove(h)
			check(h)
		}
	}
	if got := f.Stats(); got.Saturation != 0 || got.Items != 0 {
		t.Errorf("all keys deleted: %d items, saturation %g, want none", got.Items, got.Saturation)
	}
}

// deleteAbsent deletes keys that are certainly absent: each is refused, and
// nothing changes.
func deleteAbsent(t *testing.T, k Kind) {
	hs := hashes(1000, 42)
	f := k.must(t, hs, len(hs), 1e-2)
	d, ok := f.(bloomery.Deleter)
	if !ok {
		t.Skip("not a Deleter")
	}
	before := snapshot(t, f)
	for _, h := range hashes(10_000, 43) {
		if !f.ContainsHash(h) && d.DeleteHash(h) {
			t.Fatalf("delete of key %#x, which is certainly absent, was done", h)
		}
	}
	if got := missing(f, hs); got > 0 {
		t.Errorf("%d keys forgotten after deletes that were refused", got)
	}
	if !bytes.Equal(snapshot(t, f), before) {
		t.Error("deletes that were refused changed the filter")
	}
}

// overfull inserts far past the capacity: an insert either works or says
// ErrFull and leaves the filter byte for byte as it was, and no key is lost.
func overfull(t *testing.T, k Kind) {
	const n = 500
	f := k.must(t, nil, n, 1e-2).(multiset)
	hs := hashes(4*n, 44)
	var in []uint64
	refused := 0
	for _, h := range hs {
		before := snapshot(t, f)
		err := f.InsertHash(h)
		if err == nil {
			in = append(in, h)
			continue
		}
		if refused++; !errors.Is(err, bloomery.ErrFull) {
			t.Fatalf("insert with %d keys: %v, want ErrFull", len(in), err)
		}
		if !bytes.Equal(snapshot(t, f), before) {
			t.Fatalf("insert with %d keys said %v and changed the filter", len(in), err)
		}
	}
	if len(in) < n {
		t.Errorf("full with %d keys, made for %d", len(in), n)
	}
	if got := missing(f, in); got > 0 && !k.Forgets {
		t.Errorf("%d of %d keys forgotten, %d were refused", got, len(in), refused)
	}
}

// snapshot returns the encoding of f, nil if it has none.
func snapshot(t *testing.T, f any) []byte {
	t.Helper()
	m, ok := f.(encoding.BinaryMarshaler)
	if !ok {
		return nil
	}
	data, err := m.MarshalBinary()
	if err != nil {
		t.Fatalf("MarshalBinary: %v", err)
	}
	return data
}
