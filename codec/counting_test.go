package codec_test

import (
	"testing"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/counting"
	"github.com/bloomery/bloomery/hashing"
)

// What a counting filter publishes is the bloom.Filter of its keys, to the
// byte, at every number of bits per key and with every hasher.
func TestCountingBloom(t *testing.T) {
	hs, gone := hashes(2000, 1), hashes(2000, 2)
	for _, h := range []hashing.Hasher{{}, hashing.Seeded(4), hashing.Keyed([16]byte{1})} {
		for _, p := range []float64{0.5, 1e-2, 1e-3, 1e-4, 1e-6} {
			f, err := counting.Config{Capacity: 2000, ErrorRate: p, Hasher: h}.New()
			if err != nil {
				t.Fatal(err)
			}
			b, err := bloom.Config{Capacity: 2000, ErrorRate: p, Hasher: h}.New()
			if err != nil {
				t.Fatal(err)
			}
			fill(t, f, append(hs, gone...))
			for _, x := range gone {
				f.DeleteHash(x)
			}
			b.AddHashes(nil, hs)
			if got, want := string(f.AppendBloom([]byte("before"))), "before"+string(encoded(t, b)); got != want {
				t.Errorf("p = %g: Bloom() is not what a bloom.Filter with the same keys encodes to", p)
			}
			opened, err := codec.Config{Hasher: h}.Open(f.Bloom())
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := opened.(*bloom.Filter); !ok {
				t.Errorf("Bloom() opens as %T, want a bloom.Filter", opened)
			}
			for _, x := range append(hashes(5000, 3), hs...) {
				if opened.ContainsHash(x) != f.ContainsHash(x) {
					t.Fatalf("p = %g: hash %#x is contained in one of both", p, x)
				}
			}
		}
	}
}
