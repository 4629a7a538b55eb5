package quotient_test

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/quotient"
	"github.com/bloomery/bloomery/sizing"
)

// TestViewClones checks that a clone of a view has the keys and takes more.
func TestViewClones(t *testing.T) {
	hs := hashes(1000, 1)
	v, err := quotient.Config{}.View(marshal(t, filled(t, hs, 0.01)))
	if err != nil {
		t.Fatal(err)
	}
	c, err := v.Clone()
	if err != nil {
		t.Fatal(err)
	}
	f, counts := c.(*quotient.Filter), v.(bloomery.Counter)
	for _, h := range hs {
		if !f.ContainsHash(h) {
			t.Fatalf("the clone has lost %#x", h)
		}
	}
	if err := f.InsertHash(hs[0]); err != nil || f.CountHash(hs[0]) != counts.CountHash(hs[0])+1 {
		t.Errorf("after an insert: %d, the view has %d: %v", f.CountHash(hs[0]), counts.CountHash(hs[0]), err)
	}
}

// TestZeroGrowing checks that a filter that was not made holds nothing, and that one
// that cannot be changed names its constructor.
func TestZeroGrowing(t *testing.T) {
	var g quotient.Growing
	if g.CountHash(1) != 0 || g.ContainsHash(1) || g.Stats().Saturation != 0 {
		t.Errorf("a zero filter: count %d, %+v", g.CountHash(1), g.Stats())
	}
	defer func() {
		if text, _ := recover().(string); !strings.Contains(text, "make it with New") {
			t.Errorf("deleting from a zero filter: %q, want its constructor", text)
		}
	}()
	new(quotient.Filter).DeleteHash(1)
}

// TestGrowingStats checks load and memory of a filter of several segments: each has
// an array and something beside it.
func TestGrowingStats(t *testing.T) {
	g := quotient.NewGrowing(1000, 0.01)
	if _, err := g.InsertHashes(hashes(50_000, 2)); err != nil {
		t.Fatal(err)
	}
	s := g.Stats()
	n, _, _ := quotient.Segments(g)
	if least := s.Bits/8 + n*256; n < 2 || s.Bytes < least || s.Bytes > least+n*256 {
		t.Errorf("%d segments of %d bits take %d bytes", n, s.Bits, s.Bytes)
	}
	if s.Saturation < 0.5 || s.Saturation > 0.96 {
		t.Errorf("a share of %v of the slots is in use", s.Saturation)
	}
}

// TestGrowingInsertsUntilFull checks how many keys the batch forms report when one is
// refused: fingerprints of 52 bits leave few for addresses.
func TestGrowingInsertsUntilFull(t *testing.T) {
	var keys [][]byte
	for i := range 5000 {
		keys = append(keys, strconv.AppendInt(nil, int64(i), 10))
	}
	for name, insert := range map[string]func(*quotient.Growing) (int, error){
		"keys":     func(g *quotient.Growing) (int, error) { return g.InsertKeys(keys) },
		"sequence": func(g *quotient.Growing) (int, error) { return g.InsertSeq(slices.Values(keys)) },
	} {
		g := quotient.GrowingOf(1, sizing.Growing{Slots: 64, Bits: 52})
		if n, err := insert(g); !errors.Is(err, bloomery.ErrFull) || uint64(n) != g.Stats().Items {
			t.Errorf("%s: %d keys, %v, the filter has %d", name, n, err, g.Stats().Items)
		}
	}
}
