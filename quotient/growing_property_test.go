package quotient_test

import (
	"bytes"
	"encoding"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bloomery/bloomery/quotient"
	"github.com/bloomery/bloomery/sizing"
)

// prefixModel is the exact multiset of prefixes that a Growing must be: each key
// is there with as many bits of its hash as it was inserted with.
type prefixModel map[uint64]uint64

// longest returns the longest prefix of h that is there, 0 if there is none.
func (m prefixModel) longest(h uint64) uint64 {
	for n := 63; n >= 0; n-- {
		if code := quotient.Code(h, n); m[code] > 0 {
			return code
		}
	}
	return 0
}

func (m prefixModel) count(h uint64) (sum uint64) {
	for n := range 64 {
		sum += m[quotient.Code(h, n)]
	}
	return sum
}

// grower runs one random history through a Growing, a twin, and a model.
type grower struct {
	g, twin *quotient.Growing
	exact   prefixModel
	members map[uint64]uint64 // how often each hash is there
	order   []uint64          // the hashes of members, in the order of their first insert
}

func newGrower(n int, plan sizing.Growing) *grower {
	return &grower{quotient.GrowingOf(n, plan), quotient.GrowingOf(n, plan), prefixModel{}, map[uint64]uint64{}, nil}
}

type fatal interface{ Fatalf(string, ...any) }

func (r *grower) insert(t fatal, h uint64) {
	for _, g := range []*quotient.Growing{r.g, r.twin} {
		if err := g.InsertHash(h); err != nil {
			t.Fatalf("insert: %v", err)
		}
	}
	r.exact[quotient.Code(h, quotient.GrowingBits(r.g, h))]++
	if r.members[h]++; r.members[h] == 1 {
		r.order = append(r.order, h)
	}
}

// remove deletes a hash. One that is absent goes only if it seems to be there.
func (r *grower) remove(t fatal, h uint64) {
	code := r.exact.longest(h)
	if r.members[h] == 0 && code != 0 {
		return // another key's: not to be deleted
	}
	if got := r.g.DeleteHash(h); got != (code != 0) || got != r.twin.DeleteHash(h) {
		t.Fatalf("DeleteHash(%#x) = %v, prefix %#x", h, got, code)
	}
	if code == 0 {
		return
	}
	if r.exact[code]--; r.exact[code] == 0 {
		delete(r.exact, code)
	}
	if r.members[h]--; r.members[h] == 0 {
		delete(r.members, h)
		r.order = slices.DeleteFunc(r.order, func(x uint64) bool { return x == h })
	}
}

func (r *grower) reload(t fatal) {
	g, err := quotient.Config{}.DecodeGrowing(encoded(t, r.g))
	if err != nil {
		t.Fatalf("reload: %v", err)
	}
	r.g = g
}

func encoded(t fatal, f encoding.BinaryMarshaler) []byte {
	data, err := f.MarshalBinary()
	if err != nil {
		t.Fatalf("marshal: %v", err)
	}
	return data
}

// check compares all that the filter says with the model.
func (r *grower) check(t fatal, others ...uint64) {
	if err := quotient.CheckGrowing(r.g); err != nil {
		t.Fatalf("%v", err)
	}
	items := uint64(0)
	for _, n := range r.exact {
		items += n
	}
	if s := r.g.Stats(); s.Items != items {
		t.Fatalf("%d items, want %d", s.Items, items)
	}
	all := slices.Concat(r.order, others)
	found := make([]bool, len(all))
	r.g.ContainsHashes(found, all)
	for i, h := range all {
		n := r.exact.count(h)
		if r.g.CountHash(h) != n || n < r.members[h] || n > 0 && !found[i] || found[i] != r.g.ContainsHash(h) {
			t.Fatalf("hash %#x, %d times: count %d, want %d; found %v", h, r.members[h], r.g.CountHash(h), n, found[i])
		}
	}
}

// TestGrowingHistories runs random histories of inserts, deletes and reloads of
// filters that grow by up to a hundred, with fingerprints so short that many are
// used up. Counts must be those of an exact multiset of prefixes, and one history
// must give one file.
func TestGrowingHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newGrower(1, sizing.Growing{
			Slots: rapid.IntRange(51, 64).Draw(t, "slots"), Bits: rapid.IntRange(3, 6).Draw(t, "bits"),
			Expected: rapid.IntRange(0, 6).Draw(t, "expected"),
		})
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		draw := func() uint64 {
			switch rng.IntN(8) {
			case 0, 1:
				if len(r.order) > 0 {
					return r.order[rng.IntN(len(r.order))] // one that is there
				}
			case 2:
				if len(r.order) > 0 { // one with the same first bits
					return r.order[rng.IntN(len(r.order))] ^ rng.Uint64()>>(4+rng.IntN(16))
				}
			}
			return rng.Uint64()
		}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			switch rapid.IntRange(0, 6).Draw(t, "step") {
			case 0:
				r.reload(t)
			case 1:
				h := draw()
				for range rapid.IntRange(1, 300).Draw(t, "times") {
					r.insert(t, h)
				}
			case 2, 3: // old keys first, as a rule
				for range rapid.IntRange(1, 300).Draw(t, "deletes") {
					h := draw()
					if len(r.order) > 0 && rng.IntN(4) > 0 {
						h = r.order[rng.IntN(len(r.order))*rng.IntN(2)]
					}
					r.remove(t, h)
				}
			default:
				for range rapid.IntRange(1, 800).Draw(t, "inserts") {
					r.insert(t, draw())
				}
			}
			r.check(t, draw(), draw(), rng.Uint64())
		}
		if !bytes.Equal(encoded(t, r.g), encoded(t, r.twin)) {
			t.Fatalf("one history has two files")
		}
		for _, h := range slices.Clone(r.order) {
			for range r.members[h] {
				r.remove(t, h)
			}
		}
		if s := r.g.Stats(); s.Items != 0 || len(r.exact) > 0 {
			t.Fatalf("all keys deleted: %+v", s)
		}
	})
}

// TestGrowingSplits is a long history, in which segments split and elders cover
// several of them.
func TestGrowingSplits(t *testing.T) {
	for seed := range uint64(3) {
		r := newGrower(1, sizing.Growing{Slots: 64, Bits: 3 + int(seed), Expected: 5 * int(seed%2)})
		rng := rand.New(rand.NewPCG(seed, 2))
		old := make([]uint64, 0, 40_000) // with repeats
		for i := range 60_000 {
			h := rng.Uint64()
			if len(old) > 0 && i%16 == 0 {
				h = old[rng.IntN(len(old))]
			}
			r.insertQuick(t, h)
			if old = append(old, h); len(old) < cap(old) && i%4 > 0 {
				continue
			}
			j := rng.IntN(len(old)) / (1 + rng.IntN(50)) // often an old one
			r.removeQuick(t, old[j])
			old[j] = old[len(old)-1]
			old = old[:len(old)-1]
			if i%20_000 == 10_000 {
				r.reload(t)
			}
		}
		r.order = slices.Sorted(maps.Keys(r.members))
		r.check(t, hashes(1000, 5)...)
		if n, most, elders := quotient.Segments(r.g); n < 3 || most > 1<<15 || elders == 0 {
			t.Errorf("seed %d: %d segments of up to %d keys, %d elders", seed, n, most, elders)
		}
		if !bytes.Equal(encoded(t, r.g), encoded(t, r.twin)) {
			t.Fatalf("seed %d: one history has two files", seed)
		}
		for _, h := range old {
			r.removeQuick(t, h)
		}
		if s := r.g.Stats(); s.Items != 0 || len(r.members) > 0 {
			t.Errorf("seed %d: all keys deleted: %+v", seed, s)
		}
	}
}

// insertQuick and removeQuick keep no order, which takes long.
func (r *grower) insertQuick(t fatal, h uint64) {
	r.insert(t, h)
	r.order = r.order[:0]
}

func (r *grower) removeQuick(t fatal, h uint64) {
	r.order = nil
	r.remove(t, h)
}
