package bloom_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/hashing"
)

func TestSlicedAddColumn(t *testing.T) {
	s := sliced(3, 10, 0.1)
	if s.Words() != 1 {
		t.Errorf("Words() = %d, want 1", s.Words())
	}
	for i := range 64 {
		if c, err := s.AddColumn(); c != i || err != nil {
			t.Fatalf("AddColumn() = %d, %v, want %d", c, err, i)
		}
	}
	if c, err := s.AddColumn(); !errors.Is(err, bloomery.ErrFull) {
		t.Errorf("AddColumn() = %d, %v, want ErrFull", c, err)
	}
	for _, c := range []int{40, 7, 63} {
		if _, err := s.AddHash(c, 1); err != nil {
			t.Fatal(err)
		}
		if err := s.RemoveColumn(c); err != nil {
			t.Fatal(err)
		}
	}
	if s.Len() != 61 || slices.Contains(slices.Collect(s.Columns()), 40) {
		t.Errorf("Len() = %d, want 61 without column 40", s.Len())
	}
	for _, want := range []int{7, 40, 63} {
		c, err := s.AddColumn()
		if c != want || err != nil {
			t.Errorf("AddColumn() = %d, %v, want %d again", c, err, want)
		}
		if yes, err := s.ContainsHash(c, 1); yes || err != nil {
			t.Errorf("column %d has an old key: %v, %v", c, yes, err)
		}
	}
	if got := slices.Collect(s.Columns()); len(got) != 64 || got[0] != 0 || got[63] != 63 {
		t.Errorf("Columns() = %v, want 0 to 63", got)
	}
	for c := range s.Columns() {
		if c == 2 {
			break // must not go on
		}
	}
}

func TestSlicedRefuses(t *testing.T) {
	for _, c := range []struct {
		name    string
		config  bloom.Config
		columns int
		want    error
		say     string
	}{
		{"no columns", bloom.Config{Capacity: 10, ErrorRate: 0.1}, 0, bloomery.ErrParameter, "0 columns"},
		{"negative columns", bloom.Config{Capacity: 10, ErrorRate: 0.1}, -1, bloomery.ErrParameter, "-1 columns"},
		{"too many columns", bloom.Config{Capacity: 10, ErrorRate: 0.1}, 1025, bloomery.ErrParameter, "1 to 1024"},
		{"no keys", bloom.Config{ErrorRate: 0.1}, 1, bloomery.ErrParameter, "capacity 0"},
		{"rate NaN", bloom.Config{Capacity: 10, ErrorRate: math.NaN()}, 1, bloomery.ErrParameter, "NaN"},
		{"too large together", bloom.Config{Bits: 1 << 35, Hashes: 7}, 1024, bloomery.ErrTooLarge, ""},
		{"hashes", bloom.Config{Bits: 512, Hashes: 65}, 1, bloomery.ErrParameter, "1 to 64"},
		{"alloc", bloom.Config{Capacity: 9, ErrorRate: 0.1, Alloc: func(int) ([]byte, error) { return nil, io.ErrNoProgress }}, 1, io.ErrNoProgress, ""},
	} {
		c.config.Columns = c.columns
		s, err := c.config.NewSliced()
		if s != nil || !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.say) ||
			!strings.HasPrefix(err.Error(), "bloom: new sliced: ") {
			t.Errorf("%s: %v, want %v that says %q", c.name, err, c.want, c.say)
		}
	}

	s, sets := filled(t, 5, 100, 0.01)
	before, _ := s.MarshalBinary()
	other, _ := bloom.Config{Capacity: 100, ErrorRate: 0.01, Hasher: hashing.Seeded(9)}.NewStandard()
	for _, column := range []int{-1, 5, 63, 64, math.MaxInt32, math.MinInt, math.MaxInt} {
		_, contains := s.ContainsHash(column, 1)
		_, add := s.AddHash(column, 1)
		_, get := s.Column(column)
		_, stats := s.ColumnStats(column)
		for op, err := range map[string]error{
			"contains": contains, "add": add, "column": get, "column stats": stats,
			"clear column":   s.ClearColumn(column),
			"remove column":  s.RemoveColumn(column),
			"replace column": s.ReplaceColumn(column, bloom.NewStandard(100, 0.01)),
		} {
			if !errors.Is(err, bloomery.ErrParameter) || !strings.HasPrefix(err.Error(), "bloom: "+op) ||
				!strings.Contains(err.Error(), fmt.Sprint("column ", column)) {
				t.Errorf("%s of column %d: %v, want ErrParameter", op, column, err)
			}
		}
		if err := s.AddHashes(column, nil, sets[0]); !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("AddHashes to column %d: %v", column, err)
		}
	}
	for say, o := range map[string]*bloom.Standard{"bits and": bloom.NewStandard(101, 0.01), "seed 0 and seed 9": other} {
		if err := s.ReplaceColumn(1, o); !errors.Is(err, bloomery.ErrIncompatible) || !strings.Contains(err.Error(), say) {
			t.Errorf("ReplaceColumn: %v, want ErrIncompatible that says %q", err, say)
		}
	}
	if after, _ := s.MarshalBinary(); !bytes.Equal(before, after) {
		t.Error("a refused operation changed the columns")
	}
}

// sliced returns a Sliced; wrong numbers end the test.
func sliced(columns, n int, p float64) *bloom.Sliced {
	s, err := bloom.Config{Columns: columns, Capacity: n, ErrorRate: p}.NewSliced()
	if err != nil {
		panic(err)
	}
	return s
}

func TestSlicedReplaceAndClear(t *testing.T) {
	const each, p = 300, 0.01
	s, sets := filled(t, 270, each, p)
	o := bloom.NewStandard(each, p)
	other := hashes(each, 7)
	o.AddHashes(nil, other)
	if err := s.ReplaceColumn(100, o); err != nil {
		t.Fatal(err)
	}
	if err := s.ClearColumn(200); err != nil {
		t.Fatal(err)
	}
	got, err := s.Column(100)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := got.MarshalBinary()
	if b, _ := o.MarshalBinary(); !bytes.Equal(a, b) {
		t.Error("the replaced column differs from what replaced it")
	}
	for i, hs := range sets {
		for _, h := range hs[:20] {
			bitmap := which(t, s, h)
			if has(bitmap, 200) || i != 100 && i != 200 && !has(bitmap, i) {
				t.Fatalf("column %d: %v, cleared column: %v", i, has(bitmap, i), has(bitmap, 200))
			}
		}
	}
	c := s.Clone()
	s.Clear()
	if st := s.Stats(); st.Items != 0 || st.Saturation != 0 || st.Predicted != 0 || s.Len() != 270 {
		t.Errorf("after Clear: %+v and %d columns, want no items and 270 columns", st, s.Len())
	}
	if !has(which(t, c, sets[3][0]), 3) {
		t.Error("Clear reached the clone")
	}
}

// TestSlicedStats gives columns different numbers of keys.
func TestSlicedStats(t *testing.T) {
	const columns, each, p = 100, 2000, 0.01
	s := sliced(columns, each, p)
	if st := s.Stats(); st != (bloomery.Stats{Kind: "sliced", Bits: st.Bits, Bytes: st.Bytes, Asked: p}) {
		t.Errorf("without columns: %+v", st)
	}
	total := 0
	for i := range columns {
		c, _ := s.AddColumn()
		n := each * i / columns
		total += n
		if err := s.AddHashes(c, nil, hashes(n, uint64(i))); err != nil {
			t.Fatal(err)
		}
	}
	st := s.Stats()
	if st.Kind != "sliced" || st.Capacity != columns*each || st.Asked != p || st.Exact ||
		st.Bits != s.Shape().Bits*128 || st.Bytes != st.Bits/8+128 {
		t.Errorf("%+v", st)
	}
	// A column's fill is known to 1.6% (sigma), its count to some 4%; the sum
	// over 100 columns to 0.4%.
	if off := math.Abs(float64(st.Items)/float64(total) - 1); off > 0.02 {
		t.Errorf("Items = %d, want %d within 2%%", st.Items, total)
	}
	want := 0.0
	for i := range columns {
		want += s.Shape().Rate(float64(each*i/columns)) / columns
	}
	if off := math.Abs(st.Predicted/want - 1); off > 0.1 {
		t.Errorf("Predicted = %g, want %g within 10%%", st.Predicted, want)
	}
	for _, i := range []int{0, 50, 99} {
		st, err := s.ColumnStats(i)
		n := float64(each * i / columns)
		if err != nil || math.Abs(float64(st.Items)-n) > 5*math.Sqrt(n) || st.Capacity != each || st.Bits != s.Shape().Bits {
			t.Errorf("column %d: %+v, %v, want %.0f items", i, st, err, n)
		}
	}
	one, err := s.Column(70)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := s.ColumnStats(70)
	b := one.Stats()
	if math.Abs(a.Saturation-b.Saturation) > 0.03 {
		t.Errorf("column 70: saturation %.4f, its Standard says %.4f", a.Saturation, b.Saturation)
	}
}

func TestSlicedAllocatesNothing(t *testing.T) {
	s, sets := filled(t, 300, 100, 0.01)
	for name, run := range map[string]func(){
		"Which":        func() { var dst [16]uint64; s.Which(dst[:], sets[1][1]) },
		"ContainsHash": func() { _, _ = s.ContainsHash(2, 5) },
		"AddHash":      func() { _, _ = s.AddHash(2, 5) },
		"AddHashes":    func() { _ = s.AddHashes(2, nil, sets[2]) },
	} {
		if n := testing.AllocsPerRun(100, run); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("Which with a short dst did not panic")
			}
		}()
		s.Which(make([]uint64, s.Words()-1), 1)
	}()
}
