package main

import (
	"testing"

	"github.com/bloomery/bloomery/examples/internal/demo"
)

// On no day is there an error over all certificates. The filter is at most a fifth over the
// bound: 6% to 10% is what large sets have, and this one also has a header.
func TestRevocation(t *testing.T) {
	f, err := run(t.Context(), demo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if f.errors != 0 || f.answers < 5*sample.certificates {
		t.Errorf("%d errors in %d answers", f.errors, f.answers)
	}
	if 5*f.base > 6*f.baseBound || f.base < f.baseBound {
		t.Errorf("%d bytes, and the bound is %d", f.base, f.baseBound)
	}
	if 4*f.patches/f.days > f.base {
		t.Errorf("%d bytes of %d patches, %d for the whole", f.patches, f.days, f.base)
	}
	f.Table().Documented(t)
}
