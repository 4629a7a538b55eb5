package sizing_test

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/bloomery/bloomery/sizing"
)

// TestSplitRateVectors holds rates against figures that an independent program
// computed from the Poisson limit of many blocks, to three digits. Those for
// 10.5, 16.9, 26.4 and 41 bits per key are in the specification of Parquet, to
// one digit.
func TestSplitRateVectors(t *testing.T) {
	const blocks = 1 << 24
	for _, c := range []struct{ perKey, rate, within float64 }{
		{5, 1.79e-1, 0.005},
		{6, 9.93e-2, 0.005},
		{8, 3.32e-2, 0.005},
		{10, 1.27e-2, 0.005},
		{12, 5.42e-3, 0.005},
		{16, 1.32e-3, 0.005},
		{20, 4.20e-4, 0.005},
		{24, 1.63e-4, 0.005},
		{28, 7.27e-5, 0.005},
		{32, 3.62e-5, 0.005},
		{10.5, 1e-2, 0.05},
		{16.9, 1e-3, 0.05},
		{26.4, 1e-4, 0.05},
		{41, 1e-5, 0.05},
	} {
		s := sizing.Shape{Layout: sizing.Split, Bits: blocks * sizing.SplitBits, K: 8}
		if rate := s.Rate(blocks * sizing.SplitBits / c.perKey); math.Abs(rate/c.rate-1) > c.within {
			t.Errorf("%v bits per key: rate %.3g, want %.3g", c.perKey, rate, c.rate)
		}
	}
}

// splitSim is the split layout with true random bits instead of a hash.
type splitSim struct {
	rng    *rand.Rand
	blocks [][8]uint32
}

func (s *splitSim) add() {
	block := &s.blocks[s.rng.IntN(len(s.blocks))]
	for lane := range block {
		block[lane] |= 1 << s.rng.IntN(32)
	}
}

// rate returns the exact rate of the bits as they are, and fill the share of
// them that is set.
func (s *splitSim) rate() (rate, fill float64) {
	for _, block := range s.blocks {
		p := 1.0
		for _, lane := range block {
			set := float64(bits.OnesCount32(lane)) / 32
			p *= set
			fill += set / 8
		}
		rate += p
	}
	n := float64(len(s.blocks))
	return rate / n, fill / n
}

func TestSplitRateSimulated(t *testing.T) {
	const trials = 600
	rng := rand.New(rand.NewPCG(12, 2))
	for _, c := range []struct{ blocks, keys int }{{1, 20}, {1, 80}, {2, 30}, {3, 75}, {8, 160}, {6, 400}, {2, 300}} {
		var rates, fills sample
		for range trials {
			sim := splitSim{rng: rng, blocks: make([][8]uint32, c.blocks)}
			for range c.keys {
				sim.add()
			}
			rate, fill := sim.rate()
			rates.add(rate)
			fills.add(fill)
		}
		s := sizing.Shape{Layout: sizing.Split, Bits: uint64(c.blocks) * sizing.SplitBits, K: 8}
		rates.check(t, s.Rate(float64(c.keys)), "rate of %d keys in %d blocks", c.keys, c.blocks)
		fills.check(t, s.Fill(float64(c.keys)), "fill of %d keys in %d blocks", c.keys, c.blocks)
	}
}

// TestSplitRateMeans checks the two ways of computing a rate against each
// other where they meet, at 128 keys per block.
func TestSplitRateMeans(t *testing.T) {
	for _, blocks := range []uint64{1, 2, 7, 1000, 1 << 30} {
		s := sizing.Shape{Layout: sizing.Split, Bits: blocks * sizing.SplitBits, K: 8}
		n := 128 * float64(blocks)
		below, above := s.Rate(n), s.Rate(n+1)
		if before := s.Rate(n - 1); above < below || above-below > 1.01*(below-before)+1e-10 {
			t.Errorf("%d blocks: rates %.12g, %.12g, %.12g around 128 keys per block", blocks, before, below, above)
		}
	}
}
