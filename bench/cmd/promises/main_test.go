package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestMain lets the program start itself: the test binary is then the program.
func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// Ours must hold its rows; run returns an error if it does not.
func TestOursHold(t *testing.T) {
	out := filepath.Join(t.TempDir(), "promises.md")
	args := []string{"-quick", "-timeout", "1m", "-out", out, "-only", `^bloom\..*(rate=0.0.*(random|user)/n=1000$|/[^=]*$|/[np] = )`}
	if err := run(t.Context(), args, os.Stdout); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	doc := string(data)
	for _, want := range []string{
		"## In short", "## Where the figures come from", "## Bad parameters", "## Damaged files",
		"| bloom.Filter | ", "| bloom.Standard | ",
		"| bloom.Filter; ", " | error | error | error | error | error | error |",
	} {
		if !strings.Contains(doc, want) {
			t.Errorf("the document lacks %q", want)
		}
	}
}

// A peer of each sort is provoked, so that hangs, panics, ends for want of
// memory and silence are told apart.
func TestOutcomes(t *testing.T) {
	o, err := parse([]string{"-timeout", "2s", "-only", strings.Join([]string{
		`^bits-and-blooms/(n = 0|p = 0|n = 2\^40|one bit flipped|empty)$`,
		`^blobloom/p = 0$`,
	}, "|")})
	if err != nil {
		t.Fatal(err)
	}
	known, err := open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := provoke(t.Context(), o, known); err != nil {
		t.Fatal(err)
	}
	hazards := gather(known).hazards
	want := map[string]string{
		"bits-and-blooms/n = 0":           hung,
		"bits-and-blooms/p = 0":           panicked,
		"bits-and-blooms/n = 2^40":        killed,
		"bits-and-blooms/one bit flipped": accepted,
		"bits-and-blooms/empty":           refused,
		"blobloom/p = 0":                  panicked,
	}
	for _, h := range hazards {
		if got := h.outcome.Kind; got != want[h.name()] {
			t.Errorf("%s: %v, want %s", h.name(), h.outcome, want[h.name()])
		}
		if good := slices.Contains([]string{"bits-and-blooms/empty", "blobloom/p = 0"}, h.name()); h.outcome.Good != good {
			t.Errorf("%s: good = %v, want %v", h.name(), h.outcome.Good, good)
		}
	}
	if len(hazards) != len(want) {
		t.Errorf("%d hazards, want %d", len(hazards), len(want))
	}
}

// A broken promise of ours must end the program with an error.
func TestBrokenIsTold(t *testing.T) {
	o, err := parse([]string{"-quick", "-only", "^bloom.Filter/rate=0.01/random/n=1000$"})
	if err != nil {
		t.Fatal(err)
	}
	known, err := open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := measure(o, known); err != nil {
		t.Fatal(err)
	}
	d := gather(known)
	if broken := d.broken(); len(broken) != 0 {
		t.Fatalf("broken() = %q, want none", broken)
	}
	d.rows[0].Rate.Mean = 0.02
	d.rows[0].Rate.Sigma = 0.001
	d.hazards = []hazard{{lib: d.rows[0].lib, input: inputNamed("p = 0"), outcome: outcome{Kind: hung}}}
	if broken := d.broken(); len(broken) != 2 {
		t.Errorf("broken() = %q, want both", broken)
	}
}
