package bloom_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/golden"
)

// The files in testdata are the contract of the format, see package golden.
func TestGolden(t *testing.T) {
	type filter interface {
		bloomery.Hashed
		bloomery.Adder
		golden.Encoded
	}
	key := hashing.Keyed([16]byte([]byte("sixteen byte key")))
	cases := map[string]func() filter{
		"v1-bloom-1e-2":         func() filter { return bloom.New(100, 1e-2) },
		"v1-bloom-1e-4":         func() filter { return bloom.New(100, 1e-4) }, // two bits in some lanes
		"v1-standard-1e-3":      func() filter { return bloom.NewStandard(100, 1e-3) },
		"v1-split-1e-2":         func() filter { return bloom.NewSplit(100, 1e-2) },
		"v1-partitioned-1e-3":   func() filter { return bloom.NewPartitioned(100, 1e-3) },
		"v1-scalable-flat-1e-2": func() filter { return bloom.NewScalable(10, 1e-2) }, // four layers
		"v1-scalable-flat-7e-6": func() filter { return bloom.NewScalable(10, 7e-6) }, // blocked and standard layers
		"v1-bloom-seeded": func() filter {
			f, _ := bloom.Config{Capacity: 10, ErrorRate: 0.1, Hasher: hashing.Seeded(42)}.New()
			return f
		},
		"v1-bloom-keyed": func() filter {
			f, _ := bloom.Config{Capacity: 10, ErrorRate: 0.1, Hasher: key}.New()
			return f
		},
	}
	for name, fresh := range cases {
		t.Run(name, func(t *testing.T) {
			f := fresh()
			keys := golden.Hashes(80, f.Hash)
			f.AddHashes(nil, keys)
			golden.Filter(t, name, f, fresh(), keys)
		})
	}
}

// TestGoldenOldShares opens files of Scalables whose layers share the rate by rules of
// before: falling from the first layer on, or equally. They keep their keys and their
// bytes, and grow on by their own rule: by any other one their rates would add up to
// more than the rate asked.
func TestGoldenOldShares(t *testing.T) {
	for name, c := range map[string]struct {
		rate, least, most float64 // the sum of the rates after growth, over the rate asked
	}{
		"v1-scalable-1e-2": {1e-2, 0.9, 1}, "v1-scalable-1e-5": {1e-5, 0.9, 1},
		"v1-scalable-equal-1e-2": {1e-2, 8.99 / 40, 9.01 / 40}, "v1-scalable-equal-1e-5": {1e-5, 8.99 / 40, 9.01 / 40},
	} {
		p := c.rate
		data, err := os.ReadFile(filepath.Join("testdata", name+".golden"))
		if err != nil {
			t.Fatal(err)
		}
		s, err := bloom.Config{}.DecodeScalable(data)
		if err != nil {
			t.Fatalf("%s is not read any more: %v", name, err)
		}
		for i := range 80 {
			if k := fmt.Sprintf("key %d", i); !s.ContainsString(k) {
				t.Errorf("%s: %q is missing", name, k)
			}
		}
		if again, err := s.MarshalBinary(); err != nil || !bytes.Equal(again, data) {
			t.Errorf("%s is written otherwise than it was read: %v", name, err)
		}
		for i := range 5000 {
			s.AddString(fmt.Sprintf("more %d", i))
		}
		if sum := bloom.LayerRates(s); sum > c.most*p || sum < c.least*p {
			t.Errorf("%s: the rates of %d layers add up to %g, asked for %g", name, s.Layers(), sum, p)
		}
		if got := s.Stats(); got.Predicted > 1.05*p || got.Asked != p {
			t.Errorf("%s: grown: %+v", name, got)
		}
		if s.Clear(); s.Layers() != 1 || s.Stats().Asked != p {
			t.Errorf("%s: cleared: %+v", name, s.Stats())
		}
	}
}

// TestGoldenSliced is TestGolden for columns.
func TestGoldenSliced(t *testing.T) {
	s := sliced(70, 20, 0.01)
	for c := range 5 {
		if _, err := s.AddColumn(); err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			if _, err := s.AddHash(c, s.Hash(fmt.Appendf(nil, "key %d of %d", i, c))); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.RemoveColumn(2); err != nil {
		t.Fatal(err)
	}
	got, _ := s.MarshalBinary()
	var again bloom.Sliced
	if err := again.UnmarshalBinary(golden.File(t, "v1-sliced", got)); err != nil {
		t.Fatalf("the golden file is not read any more: %v", err)
	}
	if got := again.Len(); got != 4 {
		t.Errorf("Len() = %d, want 4", got)
	}
}
