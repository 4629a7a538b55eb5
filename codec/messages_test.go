package codec_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/counting"
	"github.com/bloomery/bloomery/cuckoo"
	"github.com/bloomery/bloomery/fuse"
	"github.com/bloomery/bloomery/quotient"
	"github.com/bloomery/bloomery/ribbon"
)

// refused are the errors of all constructors for n keys at rate p, by package
// and operation.
func refused(n int, p float64) map[string]error {
	errs := map[string]error{}
	b := bloom.Config{Capacity: n, ErrorRate: p}
	_, errs["bloom: new"] = b.New()
	_, errs["bloom: new standard"] = b.NewStandard()
	_, errs["bloom: new partitioned"] = b.NewPartitioned()
	_, errs["bloom: new split"] = b.NewSplit()
	_, errs["bloom: new scalable"] = b.NewScalable()
	_, errs["bloom: new concurrent"] = b.NewConcurrent()
	b.Columns = 64
	_, errs["bloom: new sliced"] = b.NewSliced()
	b.Columns = 0
	c := counting.Config{Capacity: n, ErrorRate: p}
	_, errs["counting: new"] = c.New()
	_, errs["counting: new spectral"] = c.NewSpectral()
	_, errs["counting: new stable"] = c.NewStable()
	_, errs["cuckoo: new"] = cuckoo.Config{Capacity: n, ErrorRate: p}.New()
	_, errs["quotient: new"] = quotient.Config{Capacity: n, ErrorRate: p}.New()
	_, errs["quotient: new growing"] = quotient.Config{Capacity: n, ErrorRate: p}.NewGrowing()
	if n > 0 { // static kinds take no number of keys
		_, errs["fuse: build"] = fuse.Config[uint8]{ErrorRate: p}.Build(context.Background(), nil)
		_, errs["ribbon: build"] = ribbon.Config{ErrorRate: p}.Build(context.Background(), nil)
	}
	return errs
}

// misshapen are the errors for shapes that are given.
func misshapen() map[string]error {
	errs := map[string]error{}
	b := bloom.Config{Bits: 1024, Hashes: 99}
	_, errs["bloom: new"] = b.New()
	_, errs["bloom: new standard"] = b.NewStandard()
	_, errs["bloom: new partitioned"] = b.NewPartitioned()
	_, errs["bloom: new split"] = b.NewSplit()
	c := counting.Config{Bits: 1024, Hashes: 99, Capacity: 1}
	_, errs["counting: new"] = c.New()
	_, errs["counting: new spectral"] = c.NewSpectral()
	_, errs["counting: new stable"] = c.NewStable()
	_, errs["cuckoo: new"] = cuckoo.Config{Buckets: 2, Width: 99}.New()
	return errs
}

// TestMessagesAreOneLine holds the errors of every constructor to "package:
// operation: sentinel: facts": each part once, no other package's name, and
// facts behind the sentinel.
func TestMessagesAreOneLine(t *testing.T) {
	check := func(name, what string, err error) {
		if err == nil {
			return // the family takes it
		}
		text := err.Error()
		sentinel := bloomery.ErrParameter
		if errors.Is(err, bloomery.ErrTooLarge) {
			sentinel = bloomery.ErrTooLarge
		}
		form := "^" + regexp.QuoteMeta(name) + ": " + sentinel.Error() + ": [^:]+(: [^:]+)?$"
		if !errors.Is(err, sentinel) || !regexp.MustCompile(form).MatchString(text) {
			t.Errorf("%s, %s: %q, want %s", name, what, text, form)
		}
		for _, word := range []string{"sizing", "bad parameter", "too large", "\n"} {
			if n := strings.Count(text, word); n > 1 || n == 1 && word == "sizing" {
				t.Errorf("%s, %s: %q has %q %d times", name, what, text, word, n)
			}
		}
	}
	for _, n := range []int{math.MinInt, 0, 1, 1000, math.MaxInt} {
		for _, p := range []float64{math.NaN(), math.Inf(1), -1, 0, 0.01, 1e-9, 1e-30, 1e-300, 1, 2} {
			for name, err := range refused(n, p) {
				check(name, fmt.Sprintf("%d keys at %v", n, p), err)
			}
		}
	}
	seen := 0
	for name, err := range misshapen() {
		check(name, "99 hashes", err)
		if err != nil {
			seen++
		}
	}
	if seen != len(misshapen()) {
		t.Errorf("%d of %d impossible shapes were refused", seen, len(misshapen()))
	}
}
