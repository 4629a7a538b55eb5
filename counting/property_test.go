package counting_test

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/counting"
)

// A random history of inserts and deletes runs beside an exact multiset,
// through variants of one filter: plain, reloaded after every step, and split
// in two that are united at the end. At every step no key is forgotten, every
// count is an upper bound, and deletes of present keys are done. With counters
// that never fill up, all variants end in the same bytes, and a filter whose
// keys are all deleted is an empty one.
func TestHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := counting.Config{
			Capacity:    rapid.IntRange(1, 200).Draw(t, "n"),
			ErrorRate:   rapid.Float64Range(1e-6, 0.9).Draw(t, "p"),
			CounterBits: rapid.SampledFrom([]int{2, 4, 8, 16}).Draw(t, "width"),
		}
		if _, err := c.New(); errors.Is(err, bloomery.ErrParameter) {
			t.Skip("counters of 2 bits are refused at high rates")
		}
		fresh := func() *counting.Filter {
			f, err := c.New()
			if err != nil {
				t.Fatal(err)
			}
			return f
		}
		h := history{t: t, fresh: fresh, plain: fresh(), reloaded: fresh(), halves: [2]*counting.Filter{fresh(), fresh()}, exact: map[uint64]uint64{}}
		keys := rapid.SliceOfN(rapid.Uint64(), 1, 40).Draw(t, "keys")
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			for _, i := range rapid.SliceOfN(rapid.IntRange(0, 3*len(keys)-1), 0, 60).Draw(t, "moves") {
				h.move(keys[i%len(keys)], i >= 2*len(keys))
			}
			h.check()
		}
		h.end()
	})
}

type history struct {
	t               *rapid.T
	fresh           func() *counting.Filter
	plain, reloaded *counting.Filter
	halves          [2]*counting.Filter
	exact           map[uint64]uint64
}

// move inserts a key, or deletes it if it is there.
func (h *history) move(key uint64, remove bool) {
	if !remove {
		err := h.plain.InsertHash(key)
		if err2 := h.reloaded.InsertHash(key); (err == nil) != (err2 == nil) {
			h.t.Fatalf("plain: %v, reloaded: %v", err, err2)
		}
		if err != nil {
			if h.plain.CountHash(key) != h.plain.MaxCount() {
				h.t.Fatalf("%v, but the count is %d", err, h.plain.CountHash(key))
			}
			return
		}
		if err := h.halves[key&1].InsertHash(key); err != nil {
			h.t.Fatal(err) // it holds a part of the keys
		}
		h.exact[key]++
		return
	}
	if h.exact[key] == 0 {
		if h.plain.ContainsHash(key) {
			return // the caller's mistake, which is not made here
		}
		before := encoded(h.t, h.plain)
		if h.plain.DeleteHash(key) || !bytes.Equal(before, encoded(h.t, h.plain)) {
			h.t.Fatalf("delete of %#x, which is certainly absent, was done", key)
		}
		return
	}
	for _, f := range []*counting.Filter{h.plain, h.reloaded, h.halves[key&1]} {
		if !f.DeleteHash(key) {
			h.t.Fatalf("delete of %#x, which is there %d times, was refused", key, h.exact[key])
		}
	}
	h.exact[key]--
}

// check reloads one variant and looks for all keys in all.
func (h *history) check() {
	data := encoded(h.t, h.reloaded)
	h.reloaded = h.fresh()
	if err := h.reloaded.UnmarshalBinary(data); err != nil {
		h.t.Fatal(err)
	}
	v, err := counting.Config{}.View(data)
	if err != nil {
		h.t.Fatal(err)
	}
	viewed := v.(bloomery.Counter)
	for key, n := range h.exact {
		got := h.plain.CountHash(key)
		if got < n || n > 0 && !h.plain.ContainsHash(key) || (got == 0) == h.plain.ContainsHash(key) {
			h.t.Fatalf("key %#x is there %d times, its count is %d, contained %v", key, n, got, h.plain.ContainsHash(key))
		}
		if half := h.halves[key&1].CountHash(key); half < n || half > got {
			h.t.Fatalf("key %#x is there %d times, its count is %d, and %d among fewer keys", key, n, got, half)
		}
		if h.reloaded.CountHash(key) != got || viewed.CountHash(key) != got {
			h.t.Fatalf("key %#x: reloaded count %d, viewed %d, want %d", key, h.reloaded.CountHash(key), viewed.CountHash(key), got)
		}
	}
	if !bytes.Equal(encoded(h.t, h.plain), data) {
		h.t.Fatal("the reloaded filter differs from the plain one")
	}
}

func (h *history) end() {
	overflowed := counting.Overflow(h.plain) > 0
	if err := h.halves[0].Merge(h.halves[1]); err != nil {
		h.t.Fatal(err)
	}
	for key, n := range h.exact {
		if got := h.halves[0].CountHash(key); got < n {
			h.t.Fatalf("united: count of %#x is %d, it is there %d times", key, got, n)
		}
	}
	if !overflowed && !bytes.Equal(encoded(h.t, h.halves[0]), encoded(h.t, h.plain)) {
		h.t.Fatal("the united filter differs from the plain one")
	}
	for key, n := range h.exact {
		for range n {
			if !h.plain.DeleteHash(key) {
				h.t.Fatalf("delete of %#x was refused", key)
			}
		}
		delete(h.exact, key)
		for other, n := range h.exact {
			if n > 0 && !h.plain.ContainsHash(other) {
				h.t.Fatalf("key %#x is forgotten", other)
			}
		}
	}
	if !overflowed && !bytes.Equal(encoded(h.t, h.plain), encoded(h.t, h.fresh())) {
		h.t.Fatal("all keys are deleted, and the filter is not empty")
	}
}
