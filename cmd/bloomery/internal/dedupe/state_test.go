// Tests of the states of a Seen.

package dedupe_test

import (
	"bytes"
	"errors"
	"flag"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/cmd/bloomery/internal/dedupe"
	"github.com/bloomery/bloomery/cmd/bloomery/internal/lines"
)

func state(tb testing.TB, s *dedupe.Seen, k lines.Key) []byte {
	tb.Helper()
	var b bytes.Buffer
	if err := s.WriteState(&b, k); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func secondColumn(tb testing.TB) lines.Key {
	tb.Helper()
	c, err := lines.ParseColumns("2")
	if err != nil {
		tb.Fatal(err)
	}
	return lines.Key{Delimiter: ",", Columns: c}
}

// TestStateGoesOn asks a Seen that was read for the same answers, and the same
// state, as the one that was written.
func TestStateGoesOn(t *testing.T) {
	c := dedupe.Config{Memory: 256 << 10, ErrorRate: 1e-4}
	for _, n := range []int{0, 1, 1000, 20_000, 40_000, 100_000} {
		s := newSeen(t, c.Memory, c.ErrorRate)
		hs := append(hashesUpTo(n), 0)
		fresh, again := make([]bool, 2*n+1), make([]bool, 2*n+1)
		s.AddHashes(fresh, hs)
		data := state(t, s, lines.Key{})
		if !bytes.Equal(data, state(t, s, lines.Key{})) {
			t.Errorf("n = %d: writing the state changed it", n)
		}
		g, err := c.ReadState(bytes.NewReader(data), lines.Key{})
		if err != nil {
			t.Fatal(err)
		}
		if g.Count() != s.Count() || g.Wrong() != s.Wrong() || g.Filtered() != s.Filtered() || g.Capacity() != s.Capacity() {
			t.Errorf("n = %d: %d, %v, %v hashes, want %d, %v, %v", n, g.Count(), g.Wrong(), g.Filtered(), s.Count(), s.Wrong(), s.Filtered())
		}
		more := hashesUpTo(2 * n)
		s.AddHashes(fresh, more)
		g.AddHashes(again, more)
		if !slices.Equal(fresh[:2*n], again[:2*n]) || !bytes.Equal(state(t, s, lines.Key{}), state(t, g, lines.Key{})) {
			t.Errorf("n = %d: the two go on differently", n)
		}
	}
}

// TestStateOfOtherMemory reads states with more and with less memory.
func TestStateOfOtherMemory(t *testing.T) {
	small := dedupe.Config{Memory: dedupe.MinMemory, ErrorRate: 1e-4}
	large := dedupe.Config{Memory: 1 << 20, ErrorRate: 1e-4}
	hs := hashesUpTo(20_000)
	fresh := make([]bool, len(hs))
	known := func(s *dedupe.Seen) bool {
		s.AddHashes(fresh, hs)
		return !slices.Contains(fresh, true)
	}
	s := newSeen(t, large.Memory, large.ErrorRate)
	s.AddHashes(fresh, hs)
	if g, err := small.ReadState(bytes.NewReader(state(t, s, lines.Key{})), lines.Key{}); err != nil || !g.Filtered() || !known(g) || g.Count() != s.Count() {
		t.Errorf("hashes into less memory: %v", err)
	}
	s = newSeen(t, small.Memory, small.ErrorRate)
	s.AddHashes(fresh, hs)
	if g, err := large.ReadState(bytes.NewReader(state(t, s, lines.Key{})), lines.Key{}); err != nil || !g.Filtered() || !known(g) || g.Capacity() != s.Capacity() {
		t.Errorf("a filter into more memory: %v", err)
	}
	large.Expected = large.Capacity()
	s, err := large.New()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := small.ReadState(bytes.NewReader(state(t, s, lines.Key{})), lines.Key{}); !errors.Is(err, bloomery.ErrTooLarge) {
		t.Errorf("a filter into less memory: %v, want ErrTooLarge", err)
	}
}

func TestStateOfOtherKeys(t *testing.T) {
	s := newSeen(t, dedupe.MinMemory, 1e-4)
	c := dedupe.Config{Memory: dedupe.MinMemory, ErrorRate: 1e-4}
	k := secondColumn(t)
	if _, err := c.ReadState(bytes.NewReader(state(t, s, k)), k); err != nil {
		t.Error(err)
	}
	if _, err := c.ReadState(bytes.NewReader(state(t, s, k)), lines.Key{}); !errors.Is(err, bloomery.ErrIncompatible) {
		t.Errorf("other keys: %v, want ErrIncompatible", err)
	}
}

// TestStateDamaged flips every bit of a small state and some of a large one.
func TestStateDamaged(t *testing.T) {
	c := dedupe.Config{Memory: dedupe.MinMemory, ErrorRate: 1e-4}
	for _, n := range []int{20, 20_000} {
		s := newSeen(t, c.Memory, c.ErrorRate)
		s.AddHashes(make([]bool, n), hashesUpTo(n))
		data := state(t, s, lines.Key{})
		for i := 0; i < len(data); i += 1 + i/300*97 {
			bad := bytes.Clone(data)
			bad[i] ^= 1 << (i % 8)
			if i >= 60 && i < 64 {
				continue // not used yet, not looked at
			}
			if _, err := c.ReadState(bytes.NewReader(bad), lines.Key{}); !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrVersion) {
				t.Errorf("n = %d, byte %d: %v, want ErrCorrupt", n, i, err)
			}
			if _, err := c.ReadState(bytes.NewReader(data[:i]), lines.Key{}); !errors.Is(err, bloomery.ErrCorrupt) {
				t.Errorf("n = %d, cut off at %d: %v, want ErrCorrupt", n, i, err)
			}
		}
		if _, err := c.ReadState(bytes.NewReader(append(data, 0)), lines.Key{}); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("n = %d, a byte behind: %v, want ErrCorrupt", n, err)
		}
	}
}

var update = flag.Bool("update", false, "write golden files")

// TestGoldenStates holds states to those of the first version: the hashes to
// the file, the filter, which is large, to its checksum.
func TestGoldenStates(t *testing.T) {
	c := dedupe.Config{Memory: dedupe.MinMemory, ErrorRate: 1e-4}
	s := newSeen(t, c.Memory, c.ErrorRate)
	s.AddHashes(make([]bool, 21), append(hashesUpTo(20), 0))
	name := filepath.Join("testdata", "v1-hashes.golden")
	if *update {
		if err := os.WriteFile(name, state(t, s, secondColumn(t)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(golden, state(t, s, secondColumn(t))) {
		t.Errorf("the state differs from %s", name)
	}
	if g, err := c.ReadState(bytes.NewReader(golden), secondColumn(t)); err != nil || g.Count() != 21 {
		t.Errorf("%s: %v", name, err)
	}
	s = newSeen(t, c.Memory, c.ErrorRate)
	s.AddHashes(make([]bool, 10_000), hashesUpTo(10_000))
	// The expected number of mistakes is a float, which some processors round
	// otherwise: it is left out.
	if got, want := crc32.ChecksumIEEE(state(t, s, lines.Key{})[64:]), uint32(goldenFilter); got != want {
		t.Errorf("checksum of a filter's state = %#x, want %#x", got, want)
	}
}

// goldenFilter is the checksum of the state with 10,000 hashes, from byte 64 on.
const goldenFilter = 0x7b5be8f

// FuzzReadState asks for errors instead of panics, and for states that can be
// written again.
func FuzzReadState(f *testing.F) {
	c := dedupe.Config{Memory: dedupe.MinMemory, ErrorRate: 1e-4}
	for _, n := range []int{0, 20, 20_000} {
		s := newSeen(f, c.Memory, c.ErrorRate)
		s.AddHashes(make([]bool, n), hashesUpTo(n))
		f.Add(state(f, s, lines.Key{}))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		dedupe.Reseal(data)
		s, err := c.ReadState(bytes.NewReader(data), lines.Key{})
		if err != nil {
			if !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrVersion) &&
				!errors.Is(err, bloomery.ErrIncompatible) && !errors.Is(err, bloomery.ErrTooLarge) {
				t.Fatal(err)
			}
			return
		}
		s.AddHashes(make([]bool, 100), hashesUpTo(100))
		if _, err := c.ReadState(bytes.NewReader(state(t, s, lines.Key{})), lines.Key{}); err != nil {
			t.Fatal(err)
		}
	})
}
