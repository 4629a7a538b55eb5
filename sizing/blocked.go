package sizing

import (
	"math"
	"sync"
)

const (
	lanes    = 8
	laneBits = 64

	// tableLen is how many keys in a block the table of a model covers, and
	// maxMean the mean number of keys per block up to which it is used: at
	// 128 the chance of 256 keys or more is below 1e-22, and above 128 no
	// rate is under 0.1, so that the closed form loses nothing.
	tableLen = 256
	maxMean  = 128
)

// model predicts the rate of the blocked layout for one k. The number of keys
// in the block that a query meets is binomial, n trials at one in N. So the
// rate is a mixture: sum over j of P(j keys) * full[j].
type model struct {
	terms []term
	full  [tableLen]float64 // rate of one block that holds j keys
}

// models holds one model for each k, each computed when it is first used.
var models = func() (a [maxBlockedK + 1]func() *model) {
	for k := 1; k <= maxBlockedK; k++ {
		a[k] = sync.OnceValue(func() *model { return newModel(k) })
	}
	return a
}()

// inverse holds 1/j: a multiplication is much cheaper than a division.
var inverse = func() (a [tableLen]float64) {
	for j := 1; j < tableLen; j++ {
		a[j] = 1 / float64(j)
	}
	return a
}()

func blockModel(k int) *model { return models[k]() }

// rate returns the rate of n keys in the given number of blocks. Between whole
// numbers of keys it is a straight line.
func (b *model) rate(n, blocks float64) float64 {
	whole := math.Floor(n)
	low := b.whole(whole, blocks)
	if n == whole {
		return low
	}
	return low + (n-whole)*(b.whole(whole+1, blocks)-low)
}

// whole is rate for a whole number of keys.
func (b *model) whole(n, blocks float64) float64 {
	switch {
	case n > maxMean*blocks:
		return b.closed(n, blocks)
	case blocks == 1:
		return b.full[int(n)]
	}
	return b.mixture(n, blocks)
}

// mixture adds up the rate over the number of keys in a block. All terms are
// positive, so the result is right to about 14 digits however small it is.
func (b *model) mixture(n, blocks float64) float64 {
	odds := 1 / (blocks - 1)
	mean := n / blocks
	p := math.Exp(n * math.Log1p(-1/blocks)) // chance of an empty block
	sum := 0.0
	for j := 1; j < tableLen; j++ {
		p *= (n - float64(j-1)) * odds * inverse[j]
		sum += p * b.full[j]
		if float64(j) > mean && p < 1e-17*sum {
			break
		}
	}
	return min(sum, 1)
}

// closed is the mixture summed by hand: the mean of x^j over the number j of
// keys in a block is (1 - (1-x)/N)^n. The sum alternates in sign and is good
// to about 1e-11, which is why it serves for large rates only.
func (b *model) closed(n, blocks float64) float64 {
	sum := 0.0
	for _, t := range b.terms {
		sum += t.weight.hi * math.Exp(n*math.Log1p(-t.gap/blocks))
	}
	return min(max(sum, 0), 1)
}
