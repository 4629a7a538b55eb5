package sizing

import (
	"math"
	"sync"
)

const splitLaneBits = 32

// splitModel returns the model of the Split layout. A block that holds j keys
// has a given bit of a lane clear with probability (31/32)^j, whatever the
// other lanes hold, so that
//
//	full[j] = (1 - (31/32)^j)^8
//
// exactly, and the terms are those of the eighth power written out.
var splitModel = sync.OnceValue(func() *model {
	logClear := math.Log1p(-1. / splitLaneBits)
	b := &model{terms: make([]term, 0, lanes+1)}
	for j := range b.full {
		b.full[j] = math.Pow(-math.Expm1(float64(j)*logClear), lanes)
	}
	weight := 1.0 // the binomial coefficients of 8, with alternating signs
	for i := range lanes + 1 {
		b.terms = append(b.terms, term{weight: dd{hi: weight}, gap: -math.Expm1(float64(i) * logClear)})
		weight *= -float64(lanes-i) / float64(i+1)
	}
	return b
})
