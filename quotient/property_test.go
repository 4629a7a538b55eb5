package quotient_test

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/quotient"
)

// model is the exact multiset of fingerprints that a filter must be.
type model map[[2]uint64]uint64

// machine runs one random history through a filter and a model of it.
type machine struct {
	f     *quotient.Filter
	exact model
	pool  []uint64 // hashes that are likely to come again
}

func (m *machine) key(h uint64) [2]uint64 {
	q, r := quotient.Split(m.f, h)
	return [2]uint64{q, r}
}

// hash draws a hash: one of before, one whose fingerprint is next to it, or a
// new one, now and then near the end of the table.
func (m *machine) hash(t *rapid.T) uint64 {
	var h uint64
	switch rapid.IntRange(0, 5).Draw(t, "which") {
	case 0, 1:
		if len(m.pool) > 0 {
			return m.pool[rapid.IntRange(0, len(m.pool)-1).Draw(t, "old")]
		}
		h = rapid.Uint64().Draw(t, "new")
	case 2:
		if len(m.pool) > 0 {
			step := uint64(1)<<63/m.f.Shape().Fingerprints()*2 + 1
			h = m.pool[len(m.pool)-1] + step*rapid.Uint64Range(0, 20).Draw(t, "step")
		}
	case 3:
		h = ^uint64(0) - rapid.Uint64Range(0, 1<<54).Draw(t, "last")
	default:
		h = rapid.Uint64().Draw(t, "new")
	}
	m.pool = append(m.pool, h)
	return h
}

// insert inserts h some times, until the filter is full: then it must be as it
// was.
func (m *machine) insert(t *rapid.T, h uint64, times int) {
	var before []byte
	for range times {
		if m.f.Stats().Saturation > 0.9 {
			before = marshal(t, m.f)
		}
		err := m.f.InsertHash(h)
		if err == nil {
			m.exact[m.key(h)]++
			continue
		}
		if !errors.Is(err, bloomery.ErrFull) {
			t.Fatalf("insert: %v, want ErrFull", err)
		}
		if before != nil && !bytes.Equal(before, marshal(t, m.f)) {
			t.Fatalf("insert: %v, and the filter changed", err)
		}
		return
	}
}

func (m *machine) remove(t *rapid.T, h uint64) {
	k := m.key(h)
	if got, want := m.f.DeleteHash(h), m.exact[k] > 0; got != want {
		t.Fatalf("DeleteHash = %v with %d occurrences", got, m.exact[k])
	}
	if m.exact[k]--; int64(m.exact[k]) <= 0 {
		delete(m.exact, k)
	}
}

// resize doubles the filter; the model then has other quotients.
func (m *machine) resize(t *rapid.T) {
	s := m.f.Stats()
	before, width := marshal(t, m.f), m.f.Shape().Remainder
	if err := m.f.Resize(2 * int(m.f.Shape().Limit())); err != nil {
		if !errors.Is(err, bloomery.ErrFull) || width > 2 {
			t.Fatalf("resize with remainders of %d bits: %v", width, err)
		}
		if !bytes.Equal(before, marshal(t, m.f)) {
			t.Fatal("a refused resize changed the filter")
		}
		return
	}
	by := width - m.f.Shape().Remainder
	moved := model{}
	for k, n := range m.exact {
		all := k[0]<<width | k[1]
		moved[[2]uint64{all >> (width - by), all & (1<<(width-by) - 1)}] = n
	}
	m.exact = moved
	if got := m.f.Stats(); got.Items != s.Items || got.Predicted != s.Predicted || got.Asked != s.Asked {
		t.Fatalf("resized: %+v, before %+v", got, s)
	}
}

// merge puts the keys of another filter, of the same shape or one that has
// grown, into the filter.
func (m *machine) merge(t *rapid.T) {
	o := m.f.Clone()
	if rapid.Bool().Draw(t, "grown") {
		_ = o.Resize(2 * int(o.Shape().Limit())) // as it is if it cannot grow
	}
	o.Clear()
	add := model{}
	for range rapid.IntRange(0, 30).Draw(t, "others") {
		h := m.hash(t)
		if o.InsertHash(h) == nil {
			add[m.key(h)]++
		}
	}
	before := marshal(t, m.f)
	if err := m.f.Merge(o); err != nil {
		if !errors.Is(err, bloomery.ErrFull) || !bytes.Equal(before, marshal(t, m.f)) {
			t.Fatalf("merge: %v, changed: %v", err, !bytes.Equal(before, marshal(t, m.f)))
		}
		return
	}
	for k, n := range add {
		m.exact[k] += n
	}
}

func (m *machine) reload(t *rapid.T) {
	var g quotient.Filter
	if err := g.UnmarshalBinary(marshal(t, m.f)); err != nil {
		t.Fatalf("reload: %v", err)
	}
	m.f = &g
}

// check compares all that the filter reports with the model.
func (m *machine) check(t *rapid.T) {
	if err := quotient.Check(m.f); err != nil {
		t.Fatal(err)
	}
	items, seen := uint64(0), model{}
	for h, n := range m.f.All() {
		k := m.key(h)
		seen[k] = n
		if m.exact[k] != n || m.f.CountHash(h) != n || !m.f.ContainsHash(h) {
			t.Fatalf("hash %#x: listed %d times, counted %d, contained %v, want %d", h, n, m.f.CountHash(h), m.f.ContainsHash(h), m.exact[k])
		}
		items += n
	}
	if len(seen) != len(m.exact) {
		t.Fatalf("%d fingerprints, want %d", len(seen), len(m.exact))
	}
	if s := m.f.Stats(); s.Items != items || !s.Exact {
		t.Fatalf("%+v, want %d items", s, items)
	}
	got := make([]bool, len(m.pool))
	m.f.ContainsHashes(got, m.pool)
	for i, h := range m.pool {
		n := m.exact[m.key(h)]
		if got[i] != (n > 0) || m.f.CountHash(h) != n {
			t.Fatalf("hash %#x: contained %v, count %d, want %d", h, got[i], m.f.CountHash(h), n)
		}
	}
}

func marshal(tb interface{ Fatal(...any) }, f *quotient.Filter) []byte {
	data, err := f.MarshalBinary()
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// A random history of inserts, deletes, resizes, merges and reloads runs beside
// an exact multiset of fingerprints. In the end the array must be the one that
// the same multiset has when it is inserted in one go.
func TestHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 400).Draw(t, "n")
		p := rapid.Float64Range(1e-6, 0.9).Draw(t, "p")
		f, err := quotient.Config{Capacity: n, ErrorRate: p, Doublings: rapid.IntRange(0, 2).Draw(t, "doublings")}.New()
		if err != nil {
			t.Fatal(err)
		}
		m := &machine{f: f, exact: model{}}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 11).Draw(t, "step") {
			case 0:
				m.resize(t)
			case 1:
				m.merge(t)
			case 2:
				m.reload(t)
			case 3:
				m.insert(t, m.hash(t), rapid.IntRange(1, 300).Draw(t, "times"))
			case 4, 5, 6:
				for range rapid.IntRange(1, 20).Draw(t, "deletes") {
					m.remove(t, m.hash(t))
				}
			default:
				for range rapid.IntRange(1, 60).Draw(t, "inserts") {
					m.insert(t, m.hash(t), 1)
				}
			}
			m.check(t)
		}
		again := m.f.Clone()
		again.Clear()
		for h, n := range m.f.All() {
			for range n {
				if err := again.InsertHash(h); err != nil {
					t.Fatalf("the same multiset once more: %v", err)
				}
			}
		}
		if !bytes.Equal(marshal(t, m.f), marshal(t, again)) {
			t.Fatal("one multiset has two arrays")
		}
		for h, n := range m.f.All() {
			for range n {
				if !again.DeleteHash(h) {
					t.Fatal("a key is gone before all its occurrences are")
				}
			}
		}
		empty := m.f.Clone()
		empty.Clear()
		if !bytes.Equal(marshal(t, empty), marshal(t, again)) {
			t.Fatal("the array is not empty when all keys are deleted")
		}
	})
}
