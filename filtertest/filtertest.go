// Package filtertest is the conformance suite that every family of filters
// passes, like testing/fstest for file systems:
//
//	func TestConformance(t *testing.T) {
//		filtertest.Test(t, filtertest.Kind{
//			Name: "bloom",
//			Make: func(hashes []uint64, n int, p float64) (bloomery.Hashed, error) { ... },
//		})
//	}
//
// It asks for the laws that all kinds share: a filter never forgets, keeps the
// false positive rate it was asked for, also behind a split by bloomery.Route,
// comes back from its encoding as it was, notices damage, and allocates
// nothing. Kinds that insert are held to an exact multiset.
//
// With -short only the rate of 1% is measured, with random keys.
package filtertest

import (
	"io"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/measuring"
)

// Kind describes to the suite how to make and read filters of one kind. Make is
// needed, the rest may be nil where the kind does not have it.
type Kind struct {
	Name string
	// Rates are the false positive rates that the kind is measured at; nil
	// stands for 1e-2, 1e-3, 1e-4, 1e-5 and 1e-6.
	Rates []float64
	// Distinct means that a filter made for n keys is sure to take n only if
	// they are different ones: copies of a key crowd each other.
	Distinct bool
	// Coarse means that the kind has few rates to choose from, and so may keep
	// one far below the rate asked for.
	Coarse bool
	// Endless means that the kind grows as long as there is memory: it has no
	// capacity.
	Endless bool
	// Forgets means that keys are forgotten after more than n others, so that
	// the false positive rate holds for ever: its own law takes the place of
	// that of never forgetting.
	Forgets bool
	// Make returns a filter for n keys at rate p that holds the keys with
	// these hashes. Its hasher is the default one.
	Make func(hashes []uint64, n int, p float64) (bloomery.Hashed, error)
	// MakeKeyed returns an empty filter with this hasher.
	MakeKeyed func(h hashing.Hasher) (bloomery.Hashed, error)

	// Decode and Read return a filter from its encoding; h is for filters
	// whose hasher is not in the encoding.
	Decode func(data []byte, h hashing.Hasher) (bloomery.Hashed, error)
	Read   func(r io.Reader) (bloomery.Hashed, error)
	// View returns a view of data.
	View func(data []byte) (bloomery.View, error)

	// Union adds the keys of b to a, Clone copies, Clear empties.
	Union func(a, b bloomery.Hashed) error
	Clone func(a bloomery.Hashed) bloomery.Hashed
	Clear func(a bloomery.Hashed)
}

// Test runs the whole suite.
func Test(t *testing.T, k Kind) {
	t.Helper()
	if k.Rates == nil {
		k.Rates = []float64{1e-2, 1e-3, 1e-4, 1e-5, 1e-6}
	}
	// Allocations are counted while nothing else runs.
	t.Run("NoAllocations", func(t *testing.T) { noAllocations(t, k) })
	for _, part := range []struct {
		name string
		has  bool
		run  func(*testing.T, Kind)
	}{
		{"NeverForgets", true, neverForgets},
		{"KeepsRate", true, keepsRate},
		{"KeepsRateSplit", true, keepsRateSplit},
		{"StatsTellTheTruth", true, statsTellTheTruth},
		{"AddAnswers", true, addAnswers},
		{"Multiset", true, multisets},
		{"ShortDst", true, shortDst},
		{"InsertBatches", true, insertBatches},
		{"Forgets", k.Forgets, forgets},
		{"RoundTrip", k.Decode != nil, roundTrip},
		{"View", k.View != nil, viewing},
		{"Damage", k.Decode != nil, damage},
		{"WrongKey", k.MakeKeyed != nil && k.Decode != nil, wrongKey},
		{"Union", k.Union != nil, union},
		{"CloneAndClear", k.Clone != nil && k.Clear != nil, cloneAndClear},
		{"ConcurrentReaders", true, concurrentReaders},
	} {
		if part.has {
			t.Run(part.name, func(t *testing.T) {
				t.Parallel()
				part.run(t, k)
			})
		}
	}
}

// hashes returns n hashes; different seeds give different ones.
func hashes(n int, seed uint64) []uint64 {
	hs := make([]uint64, n)
	for i := range hs {
		hs[i] = measuring.Scramble(seed<<40 + uint64(i))
	}
	return hs
}

// must makes a filter and ends the test if that fails.
func (k Kind) must(t *testing.T, hs []uint64, n int, p float64) bloomery.Hashed {
	t.Helper()
	f, err := k.Make(hs, n, p)
	if err != nil {
		t.Fatalf("%s for %d keys at %g: %v", k.Name, n, p, err)
	}
	return f
}

// missing returns how many of hs the filter denies, asked one by one and in
// batches.
func missing(f bloomery.Hashed, hs []uint64) (n int) {
	dst := make([]bool, len(hs))
	f.ContainsHashes(dst, hs)
	for i, h := range hs {
		if !dst[i] || !f.ContainsHash(h) {
			n++
		}
	}
	return n
}
