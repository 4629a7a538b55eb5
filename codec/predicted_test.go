package codec_test

import (
	"math"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/sizing"
)

// sizing predicts how long the transport form is. The length varies from
// filter to filter as the number of set bits does, whose standard deviation is
// 0.05% at the most here: 0.25% is 5 of them.
func TestTransportIsAsLongAsPredicted(t *testing.T) {
	if testing.Short() {
		t.Skip("statistics: once is enough")
	}
	const n = 100_000
	for _, l := range []sizing.Layout{sizing.Standard, sizing.Blocked, sizing.Split, sizing.Partitioned} {
		for _, p := range []float64{1e-1, 1e-2, 1e-4, 1e-6} {
			small, err := l.Size(n, p)
			if err != nil {
				t.Fatal(err)
			}
			for _, times := range []uint64{1, 2, 10} {
				s, want, err := l.SmallestTransport(n, p, times*small.Bits)
				if err != nil {
					t.Fatal(err)
				}
				f := shaped(t, s)
				f.(bloomery.Adder).AddHashes(nil, hashes(n, 11))
				got := float64(len(compressed(t, encoded(t, f))))
				t.Logf("%v at %v, %d times the memory: k = %d, fill %.3f, %.3f of the smallest filter, %.4f of the prediction",
					l, p, times, s.K, s.Fill(n), got*8/float64(small.Bits), got/want)
				if math.Abs(got/want-1) > 0.0025 {
					t.Errorf("%v at %v, %+v: %v bytes, predicted %.0f", l, p, s, got, want)
				}
			}
		}
	}
	for _, bits := range []uint64{512, 1 << 19, 10 << 20} {
		s := sizing.Shape{Layout: sizing.Standard, Bits: bits, K: 3}
		got, want := float64(len(compressed(t, encoded(t, shaped(t, s))))), s.TransportBytes(0)
		if chunks := math.Ceil(float64(bits) / 8 / 65536); math.Abs(got-want) > 2*chunks {
			t.Errorf("%d bits, empty: %v bytes, predicted %v", bits, got, want)
		}
	}
}

// shaped returns an empty filter of a shape.
func shaped(t *testing.T, s sizing.Shape) bloomery.Hashed {
	t.Helper()
	c := bloom.Config{Bits: s.Bits, Hashes: s.K}
	var f bloomery.Hashed
	var err error
	switch s.Layout {
	case sizing.Blocked:
		f, err = c.New()
	case sizing.Split:
		f, err = c.NewSplit()
	case sizing.Partitioned:
		f, err = c.NewPartitioned()
	case sizing.Standard:
		f, err = c.NewStandard()
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}
