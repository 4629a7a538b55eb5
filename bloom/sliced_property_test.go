package bloom_test

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bloomery/bloomery/bloom"
)

// columnSets is what a Sliced should hold: an exact set for each column in
// use.
type columnSets map[int]map[uint64]bool

// TestSlicedHistories runs random histories of up to 1,024 columns against
// exact sets. After each step no key is forgotten, no column answers that is
// not in use, and reloading changes nothing; at the end the columns are those
// of a Sliced that was given the same sets at once.
func TestSlicedHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		room := rapid.IntRange(1, bloom.MaxColumns).Draw(t, "columns")
		n := rapid.IntRange(1, 60).Draw(t, "n")
		p := rapid.Float64Range(1e-6, 0.5).Draw(t, "p")
		s, exact := sliced(room, n, p), columnSets{}
		grow := rapid.IntRange(1, 64*s.Words()).Draw(t, "first")
		for range grow {
			addColumn(t, s, exact)
		}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			step(t, s, exact, n, p)
			checkColumns(t, s, exact)
		}
		same := rebuilt(t, room, n, p, exact)
		got, _ := s.MarshalBinary()
		if want, _ := same.MarshalBinary(); !bytes.Equal(got, want) {
			t.Fatal("the history left other bits than its result needs")
		}
	})
}

func addColumn(t *rapid.T, s *bloom.Sliced, exact columnSets) {
	c, err := s.AddColumn()
	if full := len(exact) == 64*s.Words(); full != (err != nil) {
		t.Fatalf("AddColumn() with %d of %d columns in use: %v", len(exact), 64*s.Words(), err)
	}
	if err != nil {
		return
	}
	for i := range c {
		if exact[i] == nil {
			t.Fatalf("AddColumn() = %d, column %d is free", c, i)
		}
	}
	if exact[c] != nil {
		t.Fatalf("AddColumn() = %d, which is in use", c)
	}
	exact[c] = map[uint64]bool{}
}

// step does one random thing to a random column.
func step(t *rapid.T, s *bloom.Sliced, exact columnSets, n int, p float64) {
	if len(exact) == 0 {
		addColumn(t, s, exact)
		return
	}
	inUse := slices.Collect(s.Columns())
	c := rapid.SampledFrom(inUse).Draw(t, "column")
	var err error
	switch rapid.SampledFrom([]string{"add", "add", "add", "one", "new", "clear", "remove", "replace", "reload", "clone"}).Draw(t, "step") {
	case "add":
		hs := rapid.SliceOfN(rapid.Uint64(), 0, 40).Draw(t, "hashes")
		err = s.AddHashes(c, nil, hs)
		for _, h := range hs {
			exact[c][h] = true
		}
	case "one":
		h := rapid.Uint64().Draw(t, "hash")
		var fresh bool
		if fresh, err = s.AddHash(c, h); fresh && exact[c][h] {
			t.Fatalf("hash %#x was in column %d, adding it changed the column", h, c)
		}
		exact[c][h] = true
	case "new":
		addColumn(t, s, exact)
	case "clear":
		err = s.ClearColumn(c)
		clear(exact[c])
	case "remove":
		err = s.RemoveColumn(c)
		delete(exact, c)
	case "replace":
		o := bloom.NewStandard(n, p)
		hs := rapid.SliceOfN(rapid.Uint64(), 0, 40).Draw(t, "hashes")
		o.AddHashes(nil, hs)
		err = s.ReplaceColumn(c, o)
		clear(exact[c])
		for _, h := range hs {
			exact[c][h] = true
		}
	case "reload":
		data, _ := s.MarshalBinary()
		*s = bloom.Sliced{}
		err = s.UnmarshalBinary(data)
	case "clone":
		*s = *s.Clone()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// checkColumns asks for the keys of all columns.
func checkColumns(t *rapid.T, s *bloom.Sliced, exact columnSets) {
	if s.Len() != len(exact) {
		t.Fatalf("Len() = %d, want %d", s.Len(), len(exact))
	}
	dst := make([]uint64, s.Words())
	for c, keys := range exact {
		for h := range keys {
			s.Which(dst, h)
			if !has(dst, c) {
				t.Fatalf("hash %#x of column %d is forgotten", h, c)
			}
			for i := range 64 * s.Words() {
				if has(dst, i) && len(exact[i]) == 0 {
					t.Fatalf("hash %#x is in column %d, which is empty or not in use", h, i)
				}
			}
		}
	}
}

// rebuilt returns a Sliced with these columns.
func rebuilt(t *rapid.T, columns, n int, p float64, exact columnSets) *bloom.Sliced {
	s := sliced(columns, n, p)
	for range 64 * s.Words() {
		if _, err := s.AddColumn(); err != nil {
			t.Fatal(err)
		}
	}
	for c := range 64 * s.Words() {
		var err error
		if keys, ok := exact[c]; ok {
			for h := range keys {
				_, err = s.AddHash(c, h)
			}
		} else {
			err = s.RemoveColumn(c)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}
