package placement

// Weights and scores, in whole numbers.

import (
	"cmp"
	"math/bits"
)

// Weight is how much a node is to hold in relation to others, in powers of √2: a node of
// weight w+2 holds twice as much as one of weight w. A node of weight 0 holds nothing.
type Weight uint8

// MaxWeight bounds weights: no sum of them overflows.
const MaxWeight Weight = 48

// WeightOf returns the weight of a node that has so many bytes for contents: the nearest
// power of √2, so it is wrong by 19% at most. 1 MiB and less are the smallest one.
func WeightOf(bytes uint64) Weight {
	const mebi = 20
	if bytes <= 1<<mebi {
		return 1
	}
	halves := 2*(log2(bytes)-mebi<<fraction) + 1<<(fraction-1) // rounded
	return min(1+Weight(halves>>fraction), MaxWeight)
}

// value returns √2^w, times 2^16.
func (w Weight) value() uint64 {
	if w == 0 {
		return 0
	}
	root := uint64(1 << 16)
	if w%2 != 0 {
		root = 92682 // √2 times that
	}
	return root << (w / 2)
}

// fraction is how many bits behind the point a logarithm has.
const fraction = 32

// log2 returns the logarithm of x, which is not 0, rounded down. Each bit of its fraction
// comes from a square, which is a product of whole numbers: processors agree on those, and
// not on what math.Log2 returns.
func log2(x uint64) uint64 {
	whole := bits.Len64(x) - 1
	sum := uint64(whole) << fraction
	x <<= 63 - whole // from 1 to 2, with 63 bits behind the point
	for bit := uint64(1) << (fraction - 1); bit != 0; bit >>= 1 {
		hi, lo := bits.Mul64(x, x)
		if hi>>63 != 0 { // 2 or more
			sum |= bit
			x = hi
		} else {
			x = hi<<1 | lo>>63
		}
	}
	return sum
}

// pair is a node that could hold a shard. The smaller its cost is, the better: of nodes
// whose costs are -log(random) / weight each is the best one as often as its weight says,
// and one that comes or goes changes nothing between two others.
type pair struct {
	cost   uint64 // without the weight
	weight uint64
	shard  uint16
	node   uint16 // by its place in the list
}

// cost returns -log2 of a number between 0 and 1 that cluster, shard and node decide.
func cost(cluster uint64, shard int, node uint32) uint64 {
	h := mix(mix(cluster+uint64(shard)*0x9e3779b97f4a7c15) + uint64(node)*0xd1b54a32d192ed03)
	return 64<<fraction - log2(max(h, 1))
}

// compare orders pairs by their costs, as fractions, and no two of them are equal.
func compare(a, b pair) int {
	ah, al := bits.Mul64(a.cost, b.weight)
	bh, bl := bits.Mul64(b.cost, a.weight)
	return cmp.Or(cmp.Compare(ah, bh), cmp.Compare(al, bl), cmp.Compare(a.node, b.node), cmp.Compare(a.shard, b.shard))
}

// mix spreads numbers that follow each other: the finalizer of SplitMix64.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
