package redisbloom

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/bloomery/bloomery"
)

// sampleBytes is how much of a filter Stats looks at.
const sampleBytes = 64 << 10

// String returns Stats as a line of text.
func (b *Bloom) String() string { return b.Stats().String() }

// Stats returns the state of the filter. Items is the number of items that were
// new when they were added, which misses the false positives of that moment.
// Asked is the false positive rate of the whole chain: twice that of its first layer,
// if it scales.
func (b *Bloom) Stats() bloomery.Stats {
	s := bloomery.Stats{
		Kind:     "bf",
		Capacity: b.Capacity(),
		Items:    b.items,
		Exact:    true,
		Bits:     b.dataBytes() * 8,
		Bytes:    b.Bytes(),
		Asked:    b.layer(0).err,
	}
	if !b.NonScaling() {
		s.Asked *= 2
	}
	if b.zero() {
		return s
	}
	no, set, variance := 0.0, 0.0, 0.0 // no is a logarithm: few bits give less than 1e-16
	for i := range b.Layers() {
		l := b.layer(i)
		fill, unseen := l.fill(sampleBytes / b.Layers())
		k := float64(l.hashes)
		no += math.Log1p(-math.Pow(fill, k))
		set += fill * float64(len(l.data))
		slope := k * math.Pow(fill, k-1)
		variance += slope * slope * unseen
	}
	s.Predicted = 0 - math.Expm1(no) // never -0
	s.PredictedSigma = math.Sqrt(variance)
	s.Saturation = set / float64(b.dataBytes())
	return s
}

// fill returns the share of bits set, from about limit bytes spread over the
// layer, and the variance of that, 0 if all bytes were read. Positions are hashes
// modulo the size: any part is like any other.
func (l *layer) fill(limit int) (share, variance float64) {
	data := l.data[:min(uint64(len(l.data)), max(l.mod/8, 1))]
	const piece = 64
	step := piece
	if pieces := max(limit/piece, 1); len(data) > pieces*piece {
		step = len(data) / pieces
	}
	ones, seen := 0, 0
	for i := 0; i < len(data); i += step {
		p := data[i:min(i+piece, len(data))]
		seen += len(p)
		for ; len(p) >= 8; p = p[8:] {
			ones += bits.OnesCount64(binary.LittleEndian.Uint64(p))
		}
		for _, v := range p {
			ones += bits.OnesCount8(v)
		}
	}
	share = float64(ones) / float64(8*seen)
	if seen < len(data) {
		variance = share * (1 - share) / float64(8*seen)
	}
	return share, variance
}

// String returns Stats as a line of text.
func (c *Cuckoo) String() string { return c.Stats().String() }

// Stats returns the state of the filter. No rate is asked of a cuckoo filter:
// Asked is the rate of a full first sub-filter. Predicted takes the
// items as spread evenly over the slots.
func (c *Cuckoo) Stats() bloomery.Stats {
	load := min(float64(c.items)/float64(max(c.slots, 1)), 1)
	return bloomery.Stats{
		Kind:       "cf",
		Capacity:   c.slots,
		Items:      c.items,
		Exact:      true,
		Bits:       c.slots * 8,
		Bytes:      c.Bytes(),
		Saturation: load,
		Asked:      c.rate(1),
		Predicted:  c.rate(load * float64(len(c.subs))),
	}
}

// rate returns the error rate when an item's two buckets hold load·2·bucket
// items over all sub-filters: each of them has its fingerprint once in 255.
func (c *Cuckoo) rate(load float64) float64 {
	return -math.Expm1(2 * float64(c.bucket) * load * math.Log1p(-1.0/255))
}
