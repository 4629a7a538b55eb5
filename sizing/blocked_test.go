package sizing_test

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/bloomery/bloomery/sizing"
)

// bestBlocked returns the k with the lowest rate, and the rate.
func bestBlocked(blocks uint64, n float64) (k int, rate float64) {
	rate = math.Inf(1)
	for i := 1; i <= 16; i++ {
		s := sizing.Shape{Layout: sizing.Blocked, Bits: blocks * sizing.BlockBits, K: i}
		if r := s.Rate(n); r < rate {
			k, rate = i, r
		}
	}
	return k, rate
}

// TestBlockedRateVectors holds rates against figures that an independent
// program computed from the Poisson limit of many blocks, to three digits.
func TestBlockedRateVectors(t *testing.T) {
	const blocks = 1 << 24
	for _, c := range []struct {
		perKey float64
		k      int
		rate   float64
	}{
		{5, 3, 9.40e-2},
		{6, 4, 5.83e-2},
		{8, 5, 2.34e-2},
		{10, 6, 9.73e-3},
		{12, 7, 4.19e-3},
		{14, 9, 1.87e-3},
		{16, 9, 8.59e-4},
		{18, 10, 4.08e-4},
		{20, 11, 2.01e-4},
		{22, 12, 1.03e-4},
		{24, 12, 5.44e-5},
		{28, 14, 1.65e-5},
		{30, 14, 9.38e-6},
		{32, 15, 5.52e-6},
	} {
		k, rate := bestBlocked(blocks, blocks*sizing.BlockBits/c.perKey)
		if k != c.k || math.Abs(rate/c.rate-1) > 0.005 {
			t.Errorf("%v bits per key: k = %d, rate %.3g, want k = %d, rate %.3g", c.perKey, k, rate, c.k, c.rate)
		}
	}
}

// blockedSim is the blocked layout with true random bits instead of a hash.
type blockedSim struct {
	rng    *rand.Rand
	blocks [][8]uint64
	k      int
}

// asked returns how many bits a key of rotation r has in a lane.
func (b *blockedSim) asked(lane, r int) int {
	run, base := b.k, 0
	if b.k > 8 {
		run, base = b.k-8, 1
	}
	if (lane-r+8)%8 < run {
		return base + 1
	}
	return base
}

func (b *blockedSim) add() {
	block := &b.blocks[b.rng.IntN(len(b.blocks))]
	r := b.rng.IntN(8)
	for lane := range block {
		for range b.asked(lane, r) {
			block[lane] |= 1 << b.rng.IntN(64)
		}
	}
}

// rate returns the exact rate of the bits as they are: the mean, over blocks
// and rotations, of the probability that every asked bit is set.
func (b *blockedSim) rate() float64 {
	sum := 0.0
	for _, block := range b.blocks {
		for r := range 8 {
			p := 1.0
			for lane, word := range block {
				fill := float64(bits.OnesCount64(word)) / 64
				for range b.asked(lane, r) {
					p *= fill
				}
			}
			sum += p / 8
		}
	}
	return sum / float64(len(b.blocks))
}

// fill returns the share of set bits.
func (b *blockedSim) fill() float64 {
	sum := 0
	for _, block := range b.blocks {
		for _, word := range block {
			sum += bits.OnesCount64(word)
		}
	}
	return float64(sum) / float64(len(b.blocks)*512)
}

func TestBlockedRateSimulated(t *testing.T) {
	const trials = 600
	rng := rand.New(rand.NewPCG(11, 2))
	for _, c := range []struct{ blocks, keys, k int }{
		{1, 60, 6},
		{2, 40, 1},
		{3, 150, 3},
		{4, 200, 6},
		{5, 200, 8},
		{8, 260, 9},
		{8, 200, 12},
		{8, 150, 15},
		{6, 150, 16},
		{4, 700, 8},
		{2, 400, 13},
	} {
		var rates, fills sample
		for range trials {
			sim := blockedSim{rng: rng, blocks: make([][8]uint64, c.blocks), k: c.k}
			for range c.keys {
				sim.add()
			}
			rates.add(sim.rate())
			fills.add(sim.fill())
		}
		s := sizing.Shape{Layout: sizing.Blocked, Bits: uint64(c.blocks) * sizing.BlockBits, K: c.k}
		rates.check(t, s.Rate(float64(c.keys)), "rate of %d keys in %d blocks, k = %d", c.keys, c.blocks, c.k)
		fills.check(t, s.Fill(float64(c.keys)), "fill of %d keys in %d blocks, k = %d", c.keys, c.blocks, c.k)
	}
}

// TestBlockedRateMeans checks the two ways of computing a rate against each
// other where they meet, at 128 keys per block.
func TestBlockedRateMeans(t *testing.T) {
	for k := 1; k <= 16; k++ {
		for _, blocks := range []uint64{1, 2, 7, 1000, 1 << 30} {
			s := sizing.Shape{Layout: sizing.Blocked, Bits: blocks * sizing.BlockBits, K: k}
			n := 128 * float64(blocks)
			below, above := s.Rate(n), s.Rate(n+1)
			if before := s.Rate(n - 1); above < below || above-below > 1.01*(below-before)+1e-10 {
				t.Errorf("%d blocks, k = %d: rates %.12g, %.12g, %.12g around 128 keys per block", blocks, k, before, below, above)
			}
		}
	}
}
