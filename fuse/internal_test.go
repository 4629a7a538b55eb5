package fuse

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bloomery/bloomery/sizing"
)

// TestMixIsForEver pins the mixer: files of filters that took more than one try
// depend on it. The values are those of MurmurHash3.
func TestMixIsForEver(t *testing.T) {
	for h, want := range map[uint64]uint64{0: 0, 1: 0xb456bcfc34c2cb2c, 2: 0x3abf2a20650683e7} {
		if got := mix(h, 0); got != want {
			t.Errorf("mix(%d, 0) = %#x, want %#x", h, got, want)
		}
		if got := mix(h^0x123456789abcdef, 0x123456789abcdef); got != want {
			t.Errorf("mix of %d with a salt = %#x, want %#x", h, got, want)
		}
	}
}

// TestLateTriesGrow asks for the shapes of tries that follow each other.
func TestLateTriesGrow(t *testing.T) {
	const n = 1_000_000
	first := sizing.FuseShardSize(n, 3)
	for seed, want := range map[uint32]int{
		0: first.Segments, 1: first.Segments, 2: 2 * first.Segments, 3: first.Segments, 7: first.Segments,
		8: first.Segments + 1, 9: first.Segments + 1 + first.Segments/16, 16: first.Segments + 1 + first.Segments/2,
		24: 2*first.Segments + 1,
	} {
		if got := shapeFor(n, 3, seed).Segments; got != want {
			t.Errorf("seed %d: %d segments, want %d", seed, got, want)
		}
	}
}

// TestAheadIsTheSame asks a small filter in the ways that large ones are asked.
func TestAheadIsTheSame(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	all := make([]uint64, 2000)
	for i := range all {
		all[i] = rng.Uint64()
	}
	for _, c := range []Config[uint16]{{}, {Arity: 4}, {Shards: 4}} {
		f, err := c.Build(t.Context(), slices.Clone(all[:1000]))
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{0, 1, group - 1, group, group + 1, 2 * group, 2*group + 1, 200, 1100} {
			hs := all[1000-n/2 : 1000+n-n/2] // half of them are there
			want, got := make([]bool, n), make([]bool, n)
			for i, h := range hs {
				want[i] = f.ContainsHash(h)
			}
			f.routed(got, hs, true)
			if !slices.Equal(got, want) {
				t.Errorf("%+v: routed gives other answers for %d keys", c, n)
			}
			clear(got)
			if f.bits == 0 && f.first.salt == 0 {
				if f.first.hasAllAhead(got, hs); !slices.Equal(got, want) {
					t.Errorf("%+v: hasAllAhead gives other answers for %d keys", c, n)
				}
			}
		}
	}
}

// TestLongestSegments reads entries of directories with segments as long as
// hashes have bits for, and longer ones.
func TestLongestSegments(t *testing.T) {
	for arity, longest := range map[int]uint64{3: sizing.MaxFuseLog3, 4: sizing.MaxFuseLog4} {
		f := array[uint8]{arity: arity}
		entry := func(log uint64) uint64 { return uint64(arity) | log<<segmentBits }
		for log, ok := range map[uint64]bool{longest: true, longest + 1: false, sizing.MinFuseLog: true, sizing.MinFuseLog - 1: false} {
			if _, err := f.parseShard(1, entry(log)); (err == nil) != ok {
				t.Errorf("arity %d: segments of 2^%d slots: %v, want ok %v", arity, log, err, ok)
			}
		}
		slots := uint64(arity) << longest
		if _, err := f.parseShard(slots+1, entry(longest)); err == nil {
			t.Errorf("arity %d: more keys than slots are taken", arity)
		}
	}
}
