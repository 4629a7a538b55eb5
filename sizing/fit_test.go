package sizing_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/sizing"
)

// sizeOf is the size in bits of a kind that was advised, by the formulas of its family.
func sizeOf(t *testing.T, c sizing.Choice, k int) uint64 {
	t.Helper()
	shaped := func(l sizing.Layout) uint64 {
		s, err := l.Size(c.Keys, c.Asked)
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		if k != 0 && s.K != k { // the size with another k is found by trying
			s.K = k
			for s.Bits -= s.Bits % l.Unit(); s.Rate(float64(c.Keys)) > c.Asked; s.Bits += s.Bits / 64 / l.Unit() * l.Unit() {
				s.Bits += l.Unit()
			}
		}
		return s.Bits
	}
	switch c.Name {
	case "bloom":
		return shaped(sizing.Blocked)
	case "standard":
		return shaped(sizing.Standard)
	case "split":
		return shaped(sizing.Split)
	case "cuckoo":
		s, err := sizing.CuckooSize(c.Keys, c.Asked)
		if err != nil {
			t.Fatal(err)
		}
		return s.Bits()
	case "counting":
		s, err := sizing.CountingSize(c.Keys, c.Asked)
		if err != nil {
			t.Fatal(err)
		}
		return s.Total()
	case "ribbon":
		s, err := sizing.RibbonSize(c.Asked, 64)
		if err != nil {
			t.Fatal(err)
		}
		return s.Bits(c.Keys)
	}
	return 8 * c.Bytes
}

// TestFit draws sizes and asks that no kind takes a byte more, that those with k have the
// one that was asked, and that nothing is left that the kind could use.
func TestFit(t *testing.T) {
	r := rand.New(rand.NewPCG(54, 1))
	oversized := 0
	for range 200 {
		q := sizing.Needs{Memory: uint64(math.Exp(r.Float64()*15) * 64), Immutable: r.IntN(3) == 0, Deletes: false}
		if r.IntN(2) == 0 {
			q.Keys = 1 + uint64(float64(q.Memory)*math.Exp(1-6*r.Float64()))
		} else {
			q.ErrorRate = math.Exp(-0.7 - 12*r.Float64())
		}
		if r.IntN(3) == 0 {
			q.Hashes = 1 + r.IntN(12)
		}
		a, err := sizing.Fit(q)
		if err != nil {
			t.Fatalf("%+v: %v", q, err)
		}
		if slices.Contains(warned(a), "plenty") {
			oversized++
		}
		if len(a.Kinds) == 0 {
			t.Errorf("%+v: nothing serves: %v", q, a.Refused)
		}
		for _, c := range serving(a) {
			bits := sizeOf(t, c, q.Hashes)
			if c.Bytes > q.Memory || bits > 8*q.Memory && (q.Hashes == 0 || bits > 8*q.Memory/16*17) {
				t.Errorf("%+v: %s takes %d bytes, by its formula %d bits", q, c.Name, c.Bytes, bits)
			}
			if q.Hashes != 0 && c.Hashes != 0 && c.Hashes != q.Hashes {
				t.Errorf("%+v: %s sets %d bits", q, c.Name, c.Hashes)
			}
			if q.Keys != 0 && c.Keys != q.Keys || q.ErrorRate != 0 && c.Asked != q.ErrorRate {
				t.Errorf("%+v: %+v", q, c)
			}
			bloom := c.Name == "bloom" || c.Name == "standard"
			if least := 0.98 * float64(q.Memory); bloom && c.Asked > 1e-6 && q.Memory > 1e4 && float64(c.Bytes) < least {
				t.Errorf("%+v: %s leaves %d bytes", q, c.Name, q.Memory-c.Bytes)
			}
		}
		if q.Keys > 0 && a.Take() == "go map" && a.Exact[0].Bytes > q.Memory {
			t.Errorf("%+v: take a map of %d bytes", q, a.Exact[0].Bytes)
		}
	}
	if oversized < 10 {
		t.Errorf("%d of 200 are oversized", oversized)
	}
	for _, q := range []sizing.Needs{{Keys: 5}, {Memory: 5}, {Memory: 5, Keys: 5, ErrorRate: 0.1}, {Memory: 5, Keys: 5, Hashes: -1}} {
		if _, err := sizing.Fit(q); !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("%+v: %v", q, err)
		}
	}
}
