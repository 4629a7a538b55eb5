package dedupe_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/cmd/bloomery/internal/dedupe"
)

// TestRecentForgets lets time pass: a hash is known for a span after it came
// last, and forgotten a sixth of a span later.
func TestRecentForgets(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	r := &dedupe.Recent{Span: time.Hour, Keys: 10_000, ErrorRate: 1e-5, Memory: 1 << 20, Now: func() time.Time { return now }}
	if err := r.Open(); err != nil {
		t.Fatal(err)
	}
	fresh := make([]bool, 1000)
	hs := hashesUpTo(len(fresh))
	r.AddHashes(fresh, hs)
	if slices.Contains(fresh, false) {
		t.Error("a hash is known before it came")
	}
	for range 3 { // each time it comes, it is known for another span
		now = now.Add(time.Hour)
		if r.AddHashes(fresh, hs); slices.Contains(fresh, true) {
			t.Error("a hash was forgotten within the span")
		}
	}
	now = now.Add(time.Hour + time.Hour/6)
	if r.AddHashes(fresh, hs); slices.Contains(fresh, false) {
		t.Error("a hash is known after its time")
	}
	if w := r.Wrong(); !(w >= 0 && w < 0.1) {
		t.Errorf("Wrong() = %v, want next to nothing", w)
	}
}

func TestRecentRefuses(t *testing.T) {
	good := dedupe.Recent{Span: time.Hour, Keys: 1000, ErrorRate: 0.01, Memory: 1 << 20, Now: time.Now}
	for name, c := range map[string]struct {
		change func(*dedupe.Recent)
		want   error
	}{
		"span":   {func(r *dedupe.Recent) { r.Span = time.Millisecond }, bloomery.ErrParameter},
		"keys":   {func(r *dedupe.Recent) { r.Keys = 0 }, bloomery.ErrParameter},
		"rate":   {func(r *dedupe.Recent) { r.ErrorRate = math.NaN() }, bloomery.ErrParameter},
		"memory": {func(r *dedupe.Recent) { r.Memory = 100 }, bloomery.ErrTooLarge},
	} {
		r := good
		c.change(&r)
		if err := r.Open(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if err := good.Open(); err != nil {
		t.Fatal(err)
	}
	if _, out := run(t, &dedupe.Job{Input: input("a\nb\na\n", 0), Recent: &good}); !strings.HasPrefix(out, "a\nb\n") || len(out) != 4 {
		t.Errorf("a job wrote %q", out)
	}
}
