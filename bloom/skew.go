package bloom

import (
	"math"

	"github.com/bloomery/bloomery/sizing"
)

// skewBlocks is how many blocks are looked at for the fullest: 1 MiB of Filter,
// some 50 microseconds.
const skewBlocks = 1 << 14

// skew returns how surprising the fullest block is, see Stats.Skew. Keys fall into
// blocks like the events of a Poisson process, and Chernoff's bound says how seldom
// one gets c keys where the mean is m: exp(c - m - c ln(c/m)) at most.
func (f *base) skew(words []uint64, count func([]uint64) uint64, fill float64) float64 {
	if f.shape.Layout != sizing.Blocked && f.shape.Layout != sizing.Split || fill <= 0 || fill >= 1 {
		return 0
	}
	each := int(f.shape.Layout.Unit() / 64) // words of a block
	blocks := len(words) / each
	looked := min(blocks, skewBlocks)
	var fullest uint64
	for i := range looked {
		at := i * (blocks / looked) * each
		fullest = max(fullest, count(words[at:at+each]))
	}
	m, c := f.keysOf(fill), f.keysOf(float64(fullest)/float64(64*each))
	if c <= m {
		return 0
	}
	surprise := (m - c + c*math.Log(c/m)) / math.Ln10
	return max(0, surprise-math.Log10(float64(looked)))
}

// keysOf returns how many keys fill a block so far. A full block could have any
// number: it counts as one in which half a bit is clear.
func (f *base) keysOf(fill float64) float64 {
	bits := float64(f.shape.Layout.Unit())
	clear := max(1-fill, 0.5/bits)
	return math.Log(clear) / math.Log1p(-float64(f.shape.K)/bits)
}
