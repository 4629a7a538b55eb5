package codec_test

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
)

func TestStaticKinds(t *testing.T) {
	hs := hashes(1000, 3)
	for _, k := range codec.Kinds() {
		if !k.Features.Static {
			continue
		}
		f, err := k.Build(slices.Clone(hs), 0.01, hashing.Hasher{})
		if err != nil {
			t.Fatal(err)
		}
		if s := f.Stats(); s.Kind != k.Name || s.Items != 1000 || s.Asked != 0.01 {
			t.Errorf("%s: %+v", k.Name, s)
		}
		if got := binary.LittleEndian.Uint16(encoded(t, f)[10:]); got != k.Number {
			t.Errorf("%s writes kind %d, the table says %d", k.Name, got, k.Number)
		}
		for _, h := range hs {
			if !f.ContainsHash(h) {
				t.Fatalf("%s forgets a key", k.Name)
			}
		}
		for _, p := range []float64{0, 1, -1, 1e-15} {
			if f, err := k.Build([]uint64{1}, p, hashing.Hasher{}); f != nil || !errors.Is(err, bloomery.ErrParameter) {
				t.Errorf("%s at %v: %v, %v, want ErrParameter", k.Name, p, f, err)
			}
		}
	}
}
