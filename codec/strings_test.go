package codec_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/cuckoo"
	"github.com/bloomery/bloomery/hashing"
)

type batches interface {
	bloomery.Hashed
	ContainsKeys(dst []bool, keys [][]byte)
	ContainsStrings(dst []bool, keys []string)
}

// stringFilters returns filters of every kind without keys, with Hasher h, and static
// ones that hold keys.
func stringFilters(t *testing.T, keys []string, h hashing.Hasher) map[string]batches {
	t.Helper()
	all := map[string]batches{}
	keep := func(name string, f bloomery.Hashed, err error) {
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all[name] = f.(batches)
	}
	for _, k := range codec.Kinds() {
		if k.Features.Static {
			hs := make([]uint64, len(keys))
			h.HashStrings(hs, keys)
			f, err := k.Build(hs, 0.01, h)
			keep(k.Name, f, err)
			continue
		}
		f, err := k.New(2*len(keys), 0.01, h)
		keep(k.Name, f, err)
	}
	c, err := bloom.Config{Capacity: 2 * len(keys), ErrorRate: 0.01, Hasher: h}.NewConcurrent()
	keep("concurrent", c, err)
	s, err := compose.StripedConfig{Capacity: 2 * len(keys), Stripes: 4, Make: func(n int) (bloomery.Hashed, error) {
		return cuckoo.Config{Capacity: n, ErrorRate: 0.01, Hasher: h}.New()
	}}.New()
	keep("striped", s, err)
	bits, err := bloom.Config{Capacity: 2 * len(keys), ErrorRate: 0.01, Hasher: h}.New()
	if err != nil {
		t.Fatal(err)
	}
	fixed, err := compose.NewCorrected(0, bits)
	keep("corrected", fixed, err)
	return all
}

// TestStringsAreKeys asks that batches of strings do what batches of their bytes do, in
// every family, and allocate nothing where those do not.
func TestStringsAreKeys(t *testing.T) {
	const n = 700 // more than two batches
	keys, bytes := make([]string, 2*n), make([][]byte, 2*n)
	for i := range keys {
		keys[i] = fmt.Sprint("key ", i)
		bytes[i] = []byte(keys[i])
	}
	for _, h := range []hashing.Hasher{hashing.Seeded(3), hashing.Keyed([16]byte{1})} {
		twins := stringFilters(t, keys[:n], h)
		for name, f := range stringFilters(t, keys[:n], h) {
			var fill func()
			switch x := f.(type) {
			case interface {
				AddStrings(dst []bool, keys []string)
				AddKeys(dst []bool, keys [][]byte)
			}:
				got, want := make([]bool, n), make([]bool, n)
				x.AddStrings(got, keys[:n])
				twins[name].(interface {
					AddKeys(dst []bool, keys [][]byte)
				}).AddKeys(want, bytes[:n])
				if !slices.Equal(got, want) {
					t.Errorf("%s: AddStrings answers other than AddKeys", name)
				}
				x.AddStrings(nil, keys[:n])
				fill = func() { x.AddStrings(got, keys[:n]); x.AddStrings(nil, keys[:n]) }
			case interface {
				InsertStrings(keys []string) (int, error)
			}:
				if done, err := x.InsertStrings(keys[:n]); done != n || err != nil {
					t.Errorf("%s: InsertStrings = %d, %v", name, done, err)
				}
				if done, err := twins[name].(interface {
					InsertKeys(keys [][]byte) (int, error)
				}).InsertKeys(bytes[:n]); done != n || err != nil {
					t.Errorf("%s: InsertKeys = %d, %v", name, done, err)
				}
			}
			got, want := make([]bool, 2*n), make([]bool, 2*n)
			f.ContainsStrings(got, keys)
			twins[name].ContainsKeys(want, bytes)
			if !slices.Equal(got, want) || slices.Contains(got[:n], false) {
				t.Errorf("%s: ContainsStrings answers other than ContainsKeys", name)
			}
			if name == "striped" { // it sorts by stripe
				continue
			}
			if a := testing.AllocsPerRun(20, func() { f.ContainsStrings(got, keys) }); a != 0 {
				t.Errorf("%s: ContainsStrings allocates %v times", name, a)
			}
			if fill != nil {
				if a := testing.AllocsPerRun(20, fill); a != 0 {
					t.Errorf("%s: AddStrings allocates %v times", name, a)
				}
			}
		}
	}
}
