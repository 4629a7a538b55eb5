// Tests of the states of an Exact.

package dedupe_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/cmd/bloomery/internal/dedupe"
	"github.com/bloomery/bloomery/cmd/bloomery/internal/lines"
)

// numbered returns n lines that all differ.
func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

// exactState returns what an Exact keeps of a text and of an earlier state.
func exactState(tb testing.TB, e *dedupe.Exact, k lines.Key, before []byte, text string) (state []byte, out string) {
	tb.Helper()
	e.Key = k
	if err := e.Open(); err != nil {
		tb.Fatal(err)
	}
	if before != nil {
		if err := e.ReadState(bytes.NewReader(before)); err != nil {
			tb.Fatal(err)
		}
	}
	var written, kept bytes.Buffer
	if _, err := (&dedupe.Job{Input: input(text, 0), Exact: e, Key: k, Out: &written}).Run(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	if err := e.WriteState(&kept); err != nil {
		tb.Fatal(err)
	}
	if err := e.Close(); err != nil {
		tb.Fatal(err)
	}
	return kept.Bytes(), written.String()
}

// read opens an Exact and gives it a state.
func read(e *dedupe.Exact, data []byte) error {
	if err := e.Open(); err != nil {
		return err
	}
	return errors.Join(e.ReadState(bytes.NewReader(data)), e.Close())
}

func small() *dedupe.Exact { return &dedupe.Exact{Bounded: true, Memory: dedupe.MinExact} }

// TestExactStateGoesOn splits a text into two runs: the second writes what is
// new in it, whatever seed it would have taken itself, and both together leave
// the state that one run leaves.
func TestExactStateGoesOn(t *testing.T) {
	first, second := numbered(2000), numbered(5000)
	one, _ := exactState(t, &dedupe.Exact{Bounded: true, Memory: dedupe.MinExact, Seed: 11}, lines.Key{}, nil, first)
	two, out := exactState(t, &dedupe.Exact{Bounded: true, Memory: 1 << 20, Seed: 12}, lines.Key{}, one, second)
	if want := strings.TrimPrefix(second, first); out != want {
		t.Errorf("the second run wrote %d bytes, want %d", len(out), len(want))
	}
	whole, _ := exactState(t, &dedupe.Exact{Bounded: true, Memory: dedupe.MinExact, Seed: 11}, lines.Key{}, nil, second)
	if !bytes.Equal(two, whole) {
		t.Error("two runs leave another state than one")
	}
}

func TestExactStateRefused(t *testing.T) {
	data, _ := exactState(t, &dedupe.Exact{Bounded: true, Memory: 1 << 20, Seed: 1}, lines.Key{}, nil, numbered(30_000))
	if err := read(small(), data); !errors.Is(err, bloomery.ErrTooLarge) {
		t.Errorf("less memory: %v, want ErrTooLarge", err)
	}
	few, _ := exactState(t, small(), secondColumn(t), nil, "a,1\nb,2\n")
	if err := read(small(), few); !errors.Is(err, bloomery.ErrIncompatible) {
		t.Errorf("other columns: %v, want ErrIncompatible", err)
	}
	lossy := newSeen(t, dedupe.MinMemory, 1e-4)
	if err := read(small(), state(t, lossy, lines.Key{})); !errors.Is(err, bloomery.ErrIncompatible) {
		t.Errorf("a state with a rate: %v, want ErrIncompatible", err)
	}
	c := dedupe.Config{Memory: dedupe.MinMemory, ErrorRate: 1e-4}
	if _, err := c.ReadState(bytes.NewReader(data), lines.Key{}); !errors.Is(err, bloomery.ErrIncompatible) {
		t.Errorf("a state without a rate: %v, want ErrIncompatible", err)
	}
}

// TestExactStateDamaged flips bits of a state and cuts it off.
func TestExactStateDamaged(t *testing.T) {
	data, _ := exactState(t, small(), lines.Key{}, nil, numbered(30))
	for i := range data {
		if i >= 60 && i < 64 {
			continue // not used yet, not looked at
		}
		bad := bytes.Clone(data)
		bad[i] ^= 1 << (i % 8)
		if err := read(small(), bad); !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrVersion) {
			t.Errorf("byte %d: %v, want ErrCorrupt", i, err)
		}
		if err := read(small(), data[:i]); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("cut off at %d: %v, want ErrCorrupt", i, err)
		}
	}
	if err := read(small(), append(data, 0)); !errors.Is(err, bloomery.ErrCorrupt) {
		t.Errorf("a byte behind: %v, want ErrCorrupt", err)
	}
}

// TestGoldenExactState holds the state to that of the first version that had it.
func TestGoldenExactState(t *testing.T) {
	name := filepath.Join("testdata", "v2-hashes.golden")
	e := small()
	e.Seed = 5
	data, _ := exactState(t, e, secondColumn(t), nil, "x,alice\ny,bob\nz,alice\nw\n")
	if *update {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(golden, data) {
		t.Errorf("the state differs from %s", name)
	}
	if _, out := exactState(t, small(), secondColumn(t), golden, "q,bob\nr,carol\n"); out != "r,carol\n" {
		t.Errorf("after %s: %q", name, out)
	}
}

// FuzzReadExactState asks for errors instead of panics, and for states that can
// be written again.
func FuzzReadExactState(f *testing.F) {
	for _, n := range []int{0, 20, 3000} {
		data, _ := exactState(f, small(), lines.Key{}, nil, numbered(n))
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		dedupe.Reseal(data)
		if err := read(small(), data); err != nil {
			if !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrVersion) &&
				!errors.Is(err, bloomery.ErrIncompatible) && !errors.Is(err, bloomery.ErrTooLarge) {
				t.Fatal(err)
			}
			return
		}
		again, _ := exactState(t, small(), lines.Key{}, data, "one more\n")
		if err := read(small(), again); err != nil {
			t.Fatal(err)
		}
	})
}
