package redisbloom_test

import (
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/bloomery/bloomery/internal/redisbloom"
)

// TestAbsLnReference compares with the values of the C library that RedisBloom
// runs on: equal to package math for these rates, except for 0.01.
func TestAbsLnReference(t *testing.T) {
	for _, x := range []float64{
		0.25, 0.2, 0.125, 0.1, 0.05, 0.03, 0.025, 0.02, 0.015, 0.0125, 0.005, 0.0025,
		0.00125, 0.001, 0.000625, 0.0005, 0.0001, 0.00005,
	} {
		if got, want := redisbloom.AbsLn(x), -math.Log(x); got != want {
			t.Errorf("absLn(%v) = %v, want %v", x, got, want)
		}
	}
	if got, want := math.Float64bits(redisbloom.AbsLn(0.01)/0.480453013918201), uint64(0x40232b8cc58a1688); got != want {
		t.Errorf("bits per entry for 0.01 = %x, want %x", got, want)
	}
}

// TestAbsLnRounding checks that results are correctly rounded: with r the
// result and ulp its spacing, exp(r - ulp/2) <= x^±1 <= exp(r + ulp/2), by the
// exponential series in 400-bit arithmetic.
func TestAbsLnRounding(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	xs := []float64{math.SmallestNonzeroFloat64, 0x1p-1022, math.Nextafter(1, 0), 0.5, math.Sqrt2 / 2, math.Nextafter(0.5, 1), 1e-300}
	xs = append(xs, 2, 3, 1.25, math.Sqrt2, math.Nextafter(1, 2), math.Nextafter(math.Sqrt2, 2), 1e18, math.MaxFloat64)
	for range 300 {
		xs = append(xs, rng.Float64(), math.Ldexp(rng.Float64(), -rng.IntN(1000)), float64(2+rng.Uint64N(1<<40)))
	}
	for _, x := range xs {
		r := redisbloom.AbsLn(x)
		one := new(big.Float).SetPrec(400).SetInt64(1)
		inverse := new(big.Float).SetPrec(400).SetFloat64(x)
		if x < 1 {
			inverse.Quo(one, inverse)
		}
		if lo := expBig(between(math.Nextafter(r, 0), r)); lo.Cmp(inverse) > 0 {
			t.Errorf("absLn(%g) = %g is too large", x, r)
		}
		if hi := expBig(between(r, math.Nextafter(r, math.Inf(1)))); hi.Cmp(inverse) < 0 {
			t.Errorf("absLn(%g) = %g is too small", x, r)
		}
	}
}

// between returns (a+b)/2 exactly.
func between(a, b float64) *big.Float {
	sum := new(big.Float).SetPrec(400).SetFloat64(a)
	sum.Add(sum, new(big.Float).SetFloat64(b))
	return sum.Quo(sum, big.NewFloat(2))
}

// expBig returns exp(y) for 0 <= y < 1024: the series for y/2^20, squared 20
// times.
func expBig(y *big.Float) *big.Float {
	small := new(big.Float).SetPrec(400).SetMantExp(y, -20)
	sum := new(big.Float).SetPrec(400).SetInt64(1)
	term := new(big.Float).SetPrec(400).SetInt64(1)
	for n := int64(1); n < 60; n++ {
		term.Mul(term, small)
		term.Quo(term, new(big.Float).SetInt64(n))
		sum.Add(sum, term)
	}
	for range 20 {
		sum.Mul(sum, sum)
	}
	return sum
}

func TestRemainder(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 100000 {
		m := max(rng.Uint64()>>rng.UintN(63), 2)
		inv, _ := bits.Div64(1, 0, m)
		for _, x := range []uint64{rng.Uint64(), rng.Uint64() / m * m, rng.Uint64()/m*m - 1, math.MaxUint64, 0, m, m - 1} {
			if got := redisbloom.Rem(x, m, inv); got != x%m {
				t.Fatalf("rem(%d, %d) = %d, want %d", x, m, got, x%m)
			}
		}
	}
}
