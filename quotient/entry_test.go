package quotient_test

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/quotient"
)

// Counts of one key, up and down over every length that they have, for
// remainders of every width.
func TestCounts(t *testing.T) {
	for width := 1; width <= 40; width++ {
		f, err := quotient.Config{Capacity: 50, ErrorRate: 0.9 * math.Ldexp(1, -width)}.New()
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range []uint64{0, 1 << 63, ^uint64(0), 0x123456789abcdef0} {
			for i := range uint64(300) {
				if err := f.InsertHash(h); err != nil {
					t.Fatalf("width %d: insert %d: %v", width, i, err)
				}
				if got := f.CountHash(h); got != i+1 {
					t.Fatalf("width %d: count %d, want %d", width, got, i+1)
				}
			}
			if err := quotient.Check(f); err != nil {
				t.Fatal(err)
			}
			for i := range uint64(300) {
				if !f.DeleteHash(h) || f.CountHash(h) != 299-i {
					t.Fatalf("width %d: count %d after %d deletes", width, f.CountHash(h), i+1)
				}
			}
			if f.DeleteHash(h) || f.ContainsHash(h) {
				t.Fatalf("width %d: a deleted key is there", width)
			}
		}
	}
}

// Merging a filter into itself doubles its counts, up to the largest.
func TestCountsPastTheCounter(t *testing.T) {
	f := quotient.New(100, 1e-3)
	h := f.Hash([]byte("alice"))
	if err := f.InsertHash(h); err != nil {
		t.Fatal(err)
	}
	one := f.Clone()
	for f.CountHash(h) <= f.MaxCount()/2 {
		if err := f.Merge(f); err != nil {
			t.Fatal(err)
		}
		if f.CountHash(h) <= f.MaxCount()/2 {
			if err := f.Merge(one); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := f.Merge(one); err != nil || f.CountHash(h) != f.MaxCount() {
		t.Fatalf("count %d (%v), want %d", f.CountHash(h), err, f.MaxCount())
	}
	before := marshal(t, f)
	for what, err := range map[string]error{"insert": f.InsertHash(h), "merge": f.Merge(one)} {
		if !errors.Is(err, bloomery.ErrFull) || !strings.Contains(err.Error(), "4294967") {
			t.Errorf("%s: %v, want ErrFull", what, err)
		}
	}
	if !bytes.Equal(before, marshal(t, f)) {
		t.Error("what was refused changed the filter")
	}
	if !f.DeleteHash(h) || f.CountHash(h) != f.MaxCount()-1 || quotient.Check(f) != nil {
		t.Errorf("after a delete: count %d, %v", f.CountHash(h), quotient.Check(f))
	}
}
