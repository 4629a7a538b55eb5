package compose_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/cuckoo"
	"github.com/bloomery/bloomery/internal/golden"
)

// TestGoldenWindow reads windows of all forms, whose first generations are
// dropped already.
func TestGoldenWindow(t *testing.T) {
	for name, c := range map[string]compose.WindowConfig{
		"v1-window-half-1e-2":  {Capacity: 60, ErrorRate: 1e-2, Burst: 2},
		"v1-window-whole-1e-5": {Capacity: 60, ErrorRate: 1e-5, Burst: 2},
		"v1-window-burst":      {Capacity: 60, ErrorRate: 1e-3, Generations: 3, Burst: 1.5},
		"v1-window-rotate":     {Capacity: 60, ErrorRate: 1e-2, Generations: 3, Burst: 2, Rotate: true, Hasher: secret},
		"v1-window-half-empty": {Capacity: 1, ErrorRate: 1e-2, Burst: 2},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWindow(t, c)
			for g := range uint64(c.Capacity / 6) {
				w.Advance(1000 + g)
				for i := range 10 {
					w.AddString(fmt.Sprintf("key %d of %d", i, g))
				}
			}
			data, err := w.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			got, err := compose.WindowConfig{Hasher: c.Hasher}.Decode(golden.File(t, name, data))
			if err != nil {
				t.Fatalf("the golden file is not read any more: %v", err)
			}
			if got.Generation() != w.Generation() || got.Shape() != w.Shape() {
				t.Errorf("generation %d of %+v, want %d of %+v", got.Generation(), got.Shape(), w.Generation(), w.Shape())
			}
			for g := range uint64(c.Capacity / 6) {
				kept := 1000+g+uint64(got.Shape().Generations) >= got.Generation()
				for i := range 10 {
					if key := fmt.Sprintf("key %d of %d", i, g); kept && !got.ContainsString(key) {
						t.Errorf("%q is missing", key)
					}
				}
			}
		})
	}
}

// TestGoldenWindowOfLines reads windows that were made when all had blocks of
// whole lines. They stay what they are.
func TestGoldenWindowOfLines(t *testing.T) {
	for name, keys := range map[string]uint64{"v1-window-1e-2": 10, "v1-window-empty": 0} {
		data, err := os.ReadFile(filepath.Join("testdata", name+".golden"))
		if err != nil {
			t.Fatal(err)
		}
		w, err := compose.WindowConfig{}.Decode(data)
		if err != nil {
			t.Fatalf("%s is not read any more: %v", name, err)
		}
		again, err := w.MarshalBinary()
		if err != nil || !bytes.Equal(again, data) {
			t.Errorf("%s is written with other bytes (%v)", name, err)
		}
		for g := range keys {
			kept := 1000+g+uint64(w.Shape().Generations) >= w.Generation()
			for i := range 10 {
				if key := fmt.Sprintf("key %d of %d", i, g); kept && !w.ContainsString(key) {
					t.Errorf("%s: %q is missing", name, key)
				}
			}
		}
		if err := w.Union(newWindow(t, compose.WindowConfig{Capacity: 60, ErrorRate: 1e-2})); !errors.Is(err, bloomery.ErrIncompatible) {
			t.Errorf("%s: Union with a window of half lines: %v, want ErrIncompatible", name, err)
		}
	}
}

// TestGoldenMembers reads filters of filters.
func TestGoldenMembers(t *testing.T) {
	quorum := func(c compose.QuorumConfig) bloomery.Hashed {
		q, err := c.New()
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	striped, err := compose.StripedConfig{Capacity: 80, Stripes: 4, Make: func(n int) (bloomery.Hashed, error) {
		return cuckoo.Config{Capacity: n, ErrorRate: 1e-2}.New()
	}}.New()
	if err != nil {
		t.Fatal(err)
	}
	openQuorum := func(data []byte) (bloomery.Hashed, error) { return compose.QuorumConfig{Open: openBloom}.Decode(data) }
	for name, c := range map[string]struct {
		f    bloomery.Hashed
		open func(data []byte) (bloomery.Hashed, error)
	}{
		"v1-quorum-2-of-3": {quorum(compose.QuorumConfig{Capacity: 80, ErrorRate: 1e-2}), openQuorum},
		"v1-quorum-1-of-1": {quorum(compose.QuorumConfig{Capacity: 80, ErrorRate: 1e-3, Members: 1}), openQuorum},
		"v1-striped-cuckoo": {striped, func(data []byte) (bloomery.Hashed, error) {
			return compose.StripedConfig{Open: openCuckoo}.Decode(data)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range 80 {
				if err := c.f.(bloomery.Inserter).InsertHash(c.f.Hash(fmt.Appendf(nil, "key %d", i))); err != nil {
					t.Fatal(err)
				}
			}
			data, err := c.f.(interface{ MarshalBinary() ([]byte, error) }).MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.open(golden.File(t, name, data))
			if err != nil {
				t.Fatalf("the golden file is not read any more: %v", err)
			}
			for i := range 80 {
				if key := fmt.Appendf(nil, "key %d", i); !got.Contains(key) {
					t.Errorf("%q is missing", key)
				}
			}
			if got.Stats() != c.f.Stats() {
				t.Errorf("Stats of the file: %+v, want %+v", got.Stats(), c.f.Stats())
			}
		})
	}
}
