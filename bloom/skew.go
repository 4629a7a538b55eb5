package bloom

import (
	"math"

	"github.com/bloomery/bloomery/sizing"
)

// skewBlocks is how many blocks are looked at for the fullest: 1 MiB of Filter,
// some 50 microseconds. Which ones of a larger array depends on its fill, so that
// nobody knows where not to aim, and a filter in use shows all of them in time.
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
	if blocks == 0 {
		return 0
	}
	looked := min(blocks, skewBlocks)
	shift := math.Float64bits(fill) * 0x9e3779b97f4a7c15 >> 33 % uint64(blocks)
	var fullest uint64
	for i := range uint64(looked) {
		at := int((i*uint64(blocks)+shift)/uint64(looked)) * each
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
