package sizing_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/sizing"
)

// What SmallestTransport returns keeps the rate within the bound, and travels
// in no more bytes than the smallest array or any that is as large as allowed,
// but for the rounding to words. That filters really have the predicted length
// is tested in package codec.
func TestSmallestTransport(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for range 300 {
		n := uint64(logUniform(rng, 1, 1e9))
		p := logUniform(rng, 1e-6, 0.5)
		times := logUniform(rng, 1, 1000)
		for _, l := range layouts {
			small, err := l.Size(n, p)
			if err != nil {
				t.Fatal(err)
			}
			most := uint64(times * float64(small.Bits))
			s, bytes, err := l.SmallestTransport(n, p, most)
			if err != nil || s.Valid() != nil {
				t.Fatalf("%v.SmallestTransport(%d, %v, %d) = %+v, %v", l, n, p, most, s, err)
			}
			if rate := s.Rate(float64(n)); rate > p || s.Bits > most || bytes != s.TransportBytes(float64(n)) {
				t.Errorf("%v.SmallestTransport(%d, %v, %d) = %+v, %v bytes: rate %v", l, n, p, most, s, bytes, rate)
			}
			if less := small.TransportBytes(float64(n)); less < bytes {
				t.Errorf("%v.SmallestTransport(%d, %v, %d) = %+v takes %.0f bytes, the smallest filter %.0f", l, n, p, most, s, bytes, less)
			}
			for k := 1; k < small.K; k++ {
				other := sizing.Shape{Layout: l, Bits: most, K: k}
				if l == sizing.Blocked {
					other.Bits -= other.Bits % sizing.BlockBits
				}
				if other.Rate(float64(n)) <= p && other.TransportBytes(float64(n)) < bytes-8 {
					t.Errorf("%v.SmallestTransport(%d, %v, %d) = %+v takes %.0f bytes, %+v takes %.0f", l, n, p, most, s, bytes, other, other.TransportBytes(float64(n)))
				}
			}
		}
	}
}

func TestSmallestTransportRefuses(t *testing.T) {
	for _, c := range []struct {
		n    uint64
		p    float64
		most uint64
		want error
	}{
		{0, 0.01, 1 << 30, bloomery.ErrParameter},
		{10, 0, 1 << 30, bloomery.ErrParameter},
		{10, math.NaN(), 1 << 30, bloomery.ErrParameter},
		{10, 1, 1 << 30, bloomery.ErrParameter},
		{1000, 0.01, 0, bloomery.ErrTooLarge},
		{1000, 0.01, 9000, bloomery.ErrTooLarge},
		{math.MaxUint64, 0.01, math.MaxUint64, bloomery.ErrTooLarge},
	} {
		for _, l := range layouts {
			if s, b, err := l.SmallestTransport(c.n, c.p, c.most); !errors.Is(err, c.want) || s != (sizing.Shape{}) || b != 0 {
				t.Errorf("%v.SmallestTransport(%d, %v, %d) = %+v, %v, %v, want %v", l, c.n, c.p, c.most, s, b, err, c.want)
			}
		}
	}
	if _, _, err := sizing.Layout(9).SmallestTransport(10, 0.01, 1<<30); !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("unknown layout: %v", err)
	}
}

// No shape and no number of keys makes a length that is not a number, or more
// than the array and its frame.
func TestTransportBytesAlwaysAnswers(t *testing.T) {
	for _, bits := range []uint64{0, 1, 512, 1 << 20, 1 << 63, math.MaxUint64} {
		for _, k := range []int{-1, 0, 1, 7, 100} {
			for _, n := range []float64{math.NaN(), math.Inf(-1), -1, 0, 1e-300, 1, 1e6, 1e300, math.Inf(1)} {
				for _, l := range layouts {
					got := sizing.Shape{Layout: l, Bits: bits, K: k}.TransportBytes(n)
					if most := 84 + 4 + 4 + 8 + float64(bits)/8*(1+5.0/65536); !(got >= 84 && got <= most) {
						t.Errorf("%d bits, k = %d, %v keys: %v bytes, want 84 to %v", bits, k, n, got, most)
					}
				}
			}
		}
	}
}

func ExampleLayout_SmallestTransport() {
	const n, p = 1_000_000, 0.001
	small, _ := sizing.Blocked.Size(n, p)
	s, bytes, err := sizing.Blocked.SmallestTransport(n, p, 2*small.Bits)
	if err != nil {
		panic(err)
	}
	fmt.Printf("for memory: %.2f MB, k = %d, travels in %.2f MB\n", float64(small.Bits)/8e6, small.K, small.TransportBytes(n)/1e6)
	fmt.Printf("for travel: %.2f MB, k = %d, travels in %.2f MB\n", float64(s.Bits)/8e6, s.K, bytes/1e6)
	// Output:
	// for memory: 1.95 MB, k = 9, travels in 1.95 MB
	// for travel: 3.85 MB, k = 3, travels in 1.73 MB
}
