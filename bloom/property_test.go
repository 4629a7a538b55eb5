package bloom_test

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
)

// mutable is what the histories below need of a filter.
type mutable interface {
	bloomery.Hashed
	bloomery.Adder
	Clear()
	EstimateCount() uint64
	MarshalBinary() ([]byte, error)
	UnmarshalBinary([]byte) error
}

// A random history runs through variants of one filter: plain, reloaded after
// every step, added key by key instead of by batch, and split in two that are
// united at the end. All must keep what the exact set holds and end in the
// same bytes.
func TestHistories(t *testing.T) {
	t.Run("bloom", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			n, p := drawSize(t)
			history(t, func() mutable { return bloom.New(n, p) },
				func(a, b mutable) error { return a.(*bloom.Filter).Union(b.(*bloom.Filter)) })
		})
	})
	t.Run("standard", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			n, p := drawSize(t)
			history(t, func() mutable { return bloom.NewStandard(n, p) },
				func(a, b mutable) error { return a.(*bloom.Standard).Union(b.(*bloom.Standard)) })
		})
	})
	t.Run("split", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			n, p := drawSize(t)
			history(t, func() mutable { return bloom.NewSplit(n, p) },
				func(a, b mutable) error { return a.(*bloom.Split).Union(b.(*bloom.Split)) })
		})
	})
	t.Run("partitioned", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			n, p := drawSize(t)
			history(t, func() mutable { return bloom.NewPartitioned(n, p) },
				func(a, b mutable) error { return a.(*bloom.Partitioned).Union(b.(*bloom.Partitioned)) })
		})
	})
	t.Run("scalable", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			n, growth := rapid.IntRange(1, 300).Draw(t, "n"), rapid.IntRange(2, 5).Draw(t, "growth")
			p := rapid.Float64Range(1e-6, 0.9).Draw(t, "p")
			history(t, func() mutable {
				f, err := bloom.Config{Capacity: n, ErrorRate: p, Growth: growth}.NewScalable()
				if err != nil {
					t.Fatal(err)
				}
				return f
			}, func(a, b mutable) error { return a.(*bloom.Scalable).Union(b.(*bloom.Scalable)) })
		})
	})
}

func drawSize(t *rapid.T) (int, float64) {
	return rapid.IntRange(1, 3000).Draw(t, "n"), rapid.Float64Range(1e-6, 0.9).Draw(t, "p")
}

func history(t *rapid.T, fresh func() mutable, unite func(a, b mutable) error) {
	plain, reloaded, single := fresh(), fresh(), fresh()
	halves := [2]mutable{fresh(), fresh()}
	exact := map[uint64]bool{}
	steps := rapid.IntRange(1, 12).Draw(t, "steps")
	for range steps {
		hs := rapid.SliceOfN(rapid.Uint64(), 0, 300).Draw(t, "hashes")
		if rapid.IntRange(0, 9).Draw(t, "clear") == 0 {
			for _, f := range []mutable{plain, reloaded, single, halves[0], halves[1]} {
				f.Clear()
			}
			clear(exact)
		}
		before := make([]bool, len(hs))
		plain.ContainsHashes(before, hs)
		answers := make([]bool, len(hs))
		plain.AddHashes(answers, hs)
		reloaded.AddHashes(nil, hs)
		for i, h := range hs {
			if got := single.AddHash(h); got != answers[i] {
				t.Fatalf("AddHash = %v, AddHashes = %v", got, answers[i])
			}
			if exact[h] && answers[i] {
				t.Fatalf("hash %#x was there, adding it changed the filter", h)
			}
			if before[i] && answers[i] {
				t.Fatalf("hash %#x was contained, adding it changed the filter", h)
			}
			exact[h] = true
			halves[h&1].AddHash(h)
		}
		data, err := reloaded.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		reloaded = fresh()
		if err := reloaded.UnmarshalBinary(data); err != nil {
			t.Fatal(err)
		}
		for h := range exact {
			if !plain.ContainsHash(h) || !reloaded.ContainsHash(h) || !single.ContainsHash(h) {
				t.Fatalf("hash %#x is forgotten", h)
			}
		}
	}
	if err := unite(halves[0], halves[1]); err != nil {
		t.Fatal(err)
	}
	want, _ := plain.MarshalBinary()
	same := map[string]mutable{"reloaded": reloaded, "single": single, "united": halves[0]}
	if _, ok := plain.(*bloom.Scalable); ok {
		delete(same, "united") // it has the layers of both halves
	}
	for h := range exact {
		if !halves[0].ContainsHash(h) {
			t.Fatalf("hash %#x is forgotten by the union", h)
		}
	}
	for name, f := range same {
		if got, _ := f.MarshalBinary(); !bytes.Equal(got, want) {
			t.Fatalf("the %s filter differs from the plain one", name)
		}
	}
	if got := plain.EstimateCount(); (got == 0) != (len(exact) == 0) {
		t.Fatalf("EstimateCount() = %d with %d keys", got, len(exact))
	}
}
