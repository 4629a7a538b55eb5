package bloom_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"math/bits"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/hashing"
)

// filled returns a Sliced whose columns, all of them, hold each hashes of
// their own.
func filled(tb testing.TB, columns, each int, p float64) (*bloom.Sliced, [][]uint64) {
	tb.Helper()
	s := bloom.NewSliced(columns, each, p)
	sets := make([][]uint64, columns)
	for i := range sets {
		c, err := s.AddColumn()
		if err != nil || c != i {
			tb.Fatalf("AddColumn() = %d, %v, want %d", c, err, i)
		}
		sets[i] = hashes(each, uint64(100+i))
		if err := s.AddHashes(i, nil, sets[i]); err != nil {
			tb.Fatal(err)
		}
	}
	return s, sets
}

// which returns the answer of Which, with words beside it that must stay.
func which(tb testing.TB, s interface {
	Which([]uint64, uint64)
	Words() int
}, h uint64,
) []uint64 {
	tb.Helper()
	dst := make([]uint64, s.Words()+2)
	dst[0], dst[len(dst)-1] = 7, 7
	s.Which(dst[1:], h)
	if dst[0] != 7 || dst[len(dst)-1] != 7 {
		tb.Fatal("Which wrote outside of its words")
	}
	return dst[1 : len(dst)-1]
}

func has(bitmap []uint64, column int) bool { return bitmap[column/64]>>(column%64)&1 != 0 }

// TestSlicedColumns holds Which, ContainsHash and Column to a Standard for
// each column, for every length of a row.
func TestSlicedColumns(t *testing.T) {
	for _, columns := range []int{1, 2, 63, 64, 65, 128, 130, 200, 256, 257, 500, 600, 1000, 1024} {
		const each, p = 50, 0.02
		s, sets := filled(t, columns, each, p)
		if s.Room() < columns || s.Room()%64 != 0 || s.Len() != columns || s.Words() != s.Room()/64 {
			t.Fatalf("%d columns: Room() = %d, Len() = %d, Words() = %d", columns, s.Room(), s.Len(), s.Words())
		}
		alone := make([]*bloom.Standard, columns)
		for i, hs := range sets {
			alone[i] = bloom.NewStandard(each, p)
			alone[i].AddHashes(nil, hs)
			got, err := s.Column(i)
			if err != nil {
				t.Fatal(err)
			}
			a, _ := got.MarshalBinary()
			if b, _ := alone[i].MarshalBinary(); !bytes.Equal(a, b) {
				t.Fatalf("column %d of %d differs from a Standard with the same keys", i, columns)
			}
		}
		for _, h := range append(hashes(200, 99), sets[columns-1][:10]...) {
			bitmap := which(t, s, h)
			for i := range s.Room() {
				want := i < columns && alone[i].ContainsHash(h)
				if has(bitmap, i) != want {
					t.Fatalf("%d columns: Which says %v for column %d, want %v", columns, !want, i, want)
				}
				if i >= columns {
					continue
				}
				if got, err := s.ContainsHash(i, h); err != nil || got != want {
					t.Fatalf("%d columns: ContainsHash(%d) = %v, %v, want %v", columns, i, got, err, want)
				}
			}
		}
	}
}

// TestSlicedNeverForgets asks for every key of every column.
func TestSlicedNeverForgets(t *testing.T) {
	for _, p := range []float64{0.1, 0.01, 1e-6, 1e-12} { // k from 3 to 40: one and several runs of positions
		s, sets := filled(t, 300, 100, p)
		for i, hs := range sets {
			for _, h := range hs {
				if !has(which(t, s, h), i) {
					t.Fatalf("p = %g: a key of column %d is forgotten", p, i)
				}
			}
		}
	}
}

// TestSlicedKeepsRate holds the rate of the columns, each and all together, to
// the rate asked.
func TestSlicedKeepsRate(t *testing.T) {
	const columns, each, p, queries = 1024, 200, 0.01, 20_000
	s, _ := filled(t, columns, each, p)
	var wrong [columns]int
	total := 0
	for _, h := range hashes(queries, 50) {
		for i, w := range which(t, s, h) {
			total += bits.OnesCount64(w)
			for ; w != 0; w &= w - 1 {
				wrong[64*i+bits.TrailingZeros64(w)]++
			}
		}
	}
	// A filter of 200 keys has a fill of 50% with sigma 1.4%: its rate varies
	// by a fifth; over 1024 of them that is 0.6%. 5 of that for a single one,
	// of 1024, plus the counting error of 200 hits, 7%.
	sigma := p * 0.2 / math.Sqrt(columns)
	if rate := float64(total) / columns / queries; rate > p+3*sigma || rate < p*0.9 {
		t.Errorf("mean rate of %d columns = %.5f, want %g within 3 * %.2g", columns, rate, p, sigma)
	}
	for i, n := range wrong {
		if rate := float64(n) / queries; rate > p*(1+5*math.Hypot(0.2, 0.07)) {
			t.Errorf("rate of column %d = %.4f, asked for %g", i, rate, p)
		}
	}
}

func TestSlicedAddAnswers(t *testing.T) {
	s, o := bloom.NewSliced(70, 1000, 0.01), bloom.NewStandard(1000, 0.01)
	for range 70 {
		if _, err := s.AddColumn(); err != nil {
			t.Fatal(err)
		}
	}
	hs := hashes(2000, 3)
	hs = append(hs, hs[:100]...)
	got, want := make([]bool, len(hs)), make([]bool, len(hs))
	if err := s.AddHashes(69, got[:1000], hs[:1000]); err != nil {
		t.Fatal(err)
	}
	for i, h := range hs[1000:] {
		var err error
		if got[1000+i], err = s.AddHash(69, h); err != nil {
			t.Fatal(err)
		}
	}
	o.AddHashes(want, hs)
	if !slices.Equal(got, want) {
		t.Error("answers differ from those of a Standard")
	}
}

func TestSlicedAddColumn(t *testing.T) {
	s := bloom.NewSliced(3, 10, 0.1)
	if s.Room() != 64 {
		t.Errorf("Room() = %d, want 64", s.Room())
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
		s, err := c.config.NewSliced(c.columns)
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

func TestNewSlicedPanics(t *testing.T) {
	defer func() {
		if err, ok := recover().(error); !ok || !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("NewSliced panicked with %v, want an ErrParameter", err)
		}
	}()
	bloom.NewSliced(2000, 10, 0.1)
	t.Error("NewSliced did not panic")
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
	s := bloom.NewSliced(columns, each, p)
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

func TestSlicedEncoding(t *testing.T) {
	for _, columns := range []int{1, 70, 256, 700} {
		s, sets := filled(t, columns, 40, 0.01)
		if columns > 2 {
			if err := s.RemoveColumn(1); err != nil {
				t.Fatal(err)
			}
		}
		data, err := s.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer
		if n, err := s.WriteTo(&file); n != int64(len(data)) || err != nil || !bytes.Equal(file.Bytes(), data) {
			t.Errorf("WriteTo: %d bytes, %v, differ from MarshalBinary", n, err)
		}
		var x, y bloom.Sliced
		if err := x.UnmarshalBinary(data); err != nil {
			t.Fatal(err)
		}
		r := io.MultiReader(iotest.HalfReader(bytes.NewReader(data)), strings.NewReader("rest"))
		if _, err := y.ReadFrom(r); err != nil {
			t.Fatal(err)
		}
		if rest, _ := io.ReadAll(r); string(rest) != "rest" {
			t.Errorf("after reading %q is left", rest)
		}
		for shift := range 9 {
			moved := append(make([]byte, shift, shift+len(data)), data...)[shift:]
			v, err := bloom.NewSlicedView(moved)
			if err != nil {
				t.Fatal(err)
			}
			if err := v.Verify(); err != nil {
				t.Error(err)
			}
			for name, got := range map[string]encoder{"unmarshalled": &x, "read": &y, "viewed": v, "cloned": v.Clone()} {
				if again, _ := got.MarshalBinary(); !bytes.Equal(again, data) {
					t.Fatalf("%d columns: the %s ones encode to other bytes", columns, name)
				}
				for _, h := range append(hashes(50, 8), sets[0][:10]...) {
					if !slices.Equal(which(t, got, h), which(t, s, h)) {
						t.Fatalf("%d columns: the %s ones answer differently", columns, name)
					}
				}
				if got.Stats() != s.Stats() {
					t.Errorf("%d columns: Stats of the %s ones differ", columns, name)
				}
			}
		}
	}
}

// encoder is what all readable forms of a Sliced have in common.
type encoder interface {
	MarshalBinary() ([]byte, error)
	Which([]uint64, uint64)
	Words() int
	Stats() bloomery.Stats
}

// TestSlicedDamage flips every bit of the header, many of the rest, and cuts.
func TestSlicedDamage(t *testing.T) {
	s, _ := filled(t, 10, 40, 0.01)
	data, _ := s.MarshalBinary()
	keep, _ := filled(t, 3, 5, 0.5)
	before, _ := keep.MarshalBinary()
	refused := func(what string, data []byte) {
		t.Helper()
		err := keep.UnmarshalBinary(data)
		_, readErr := keep.ReadFrom(bytes.NewReader(data))
		for _, err := range []error{err, readErr} {
			if !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrVersion) && !errors.Is(err, bloomery.ErrKey) {
				t.Errorf("%s: %v, want ErrCorrupt, ErrVersion or ErrKey", what, err)
			}
		}
	}
	for at := range data {
		for bit := range 8 {
			if at >= 64 && bit != at%8 {
				continue
			}
			bad := bytes.Clone(data)
			bad[at] ^= 1 << bit
			refused(fmt.Sprintf("byte %d, bit %d flipped", at, bit), bad)
			v, err := bloom.NewSlicedView(bad)
			if (err == nil) != (at >= 64) {
				t.Errorf("byte %d, bit %d flipped: view: %v", at, bit, err)
			}
			if err == nil && !errors.Is(v.Verify(), bloomery.ErrCorrupt) {
				t.Errorf("byte %d, bit %d flipped: Verify finds nothing", at, bit)
			}
		}
	}
	for n := range data {
		if n < 300 || n > len(data)-10 {
			refused(fmt.Sprintf("cut off after %d bytes", n), data[:n])
		}
	}
	if err := keep.UnmarshalBinary(append(bytes.Clone(data), 0)); !errors.Is(err, bloomery.ErrCorrupt) {
		t.Errorf("a byte too many: %v", err)
	}
	if after, _ := keep.MarshalBinary(); !bytes.Equal(before, after) {
		t.Error("refused data changed the receiver")
	}
	f, _ := bloom.New(10, 0.1).MarshalBinary()
	if err := keep.UnmarshalBinary(f); !errors.Is(err, bloomery.ErrIncompatible) {
		t.Errorf("a Filter: %v, want ErrIncompatible", err)
	}
	if err := new(bloom.Standard).UnmarshalBinary(data); !errors.Is(err, bloomery.ErrIncompatible) {
		t.Errorf("as a Standard: %v, want ErrIncompatible", err)
	}
}

func TestSlicedWrongKey(t *testing.T) {
	right, wrong := hashing.Keyed([16]byte{1}), hashing.Keyed([16]byte{2})
	c := bloom.Config{Capacity: 10, ErrorRate: 0.1, Hasher: right}
	s, err := c.NewSliced(2)
	if err != nil {
		t.Fatal(err)
	}
	data, _ := s.MarshalBinary()
	if _, err := c.NewSlicedView(data); err != nil {
		t.Errorf("right key: %v", err)
	}
	for name, h := range map[string]hashing.Hasher{"wrong key": wrong, "no key": {}} {
		if _, err := (bloom.Config{Hasher: h}).NewSlicedView(data); !errors.Is(err, bloomery.ErrKey) {
			t.Errorf("%s: %v, want ErrKey", name, err)
		}
	}
}

// reseal makes the checksums of an encoding below 1 MiB right again.
func reseal(data []byte) []byte {
	table := crc32.MakeTable(crc32.Castagnoli)
	le := binary.LittleEndian
	le.PutUint32(data[60:], crc32.Checksum(data[:60], table))
	sums := data[len(data)-8:]
	le.PutUint32(sums, crc32.Checksum(data[64:len(data)-8], table))
	le.PutUint32(sums[4:], crc32.Checksum(sums[:4], table))
	return data
}

// TestSlicedForged opens encodings whose checksums are right and whose
// contents make no sense.
func TestSlicedForged(t *testing.T) {
	s, sets := filled(t, 10, 40, 0.01)
	data, _ := s.MarshalBinary()
	if _, err := bloom.NewSlicedView(reseal(bytes.Clone(data))); err != nil {
		t.Fatal(err)
	}
	le := binary.LittleEndian
	for name, forge := range map[string]func(b []byte){
		"rows of 0 words":    func(b []byte) { le.PutUint32(b[56:], 0) },
		"rows of 2 words":    func(b []byte) { le.PutUint32(b[56:], 2) },
		"rows of 5 words":    func(b []byte) { le.PutUint32(b[56:], 5) },
		"rows of 17 words":   func(b []byte) { le.PutUint32(b[56:], 17) },
		"rows of 2^32 words": func(b []byte) { le.PutUint32(b[56:], math.MaxUint32) },
		"0 bits":             func(b []byte) { le.PutUint64(b[40:], 0) },
		"2^63 bits":          func(b []byte) { le.PutUint64(b[40:], 1<<63); le.PutUint32(b[56:], 16) },
		"k = 0":              func(b []byte) { b[13] = 0 },
		"k = 65":             func(b []byte) { b[13] = 65 },
	} {
		bad := bytes.Clone(data)
		forge(bad)
		reseal(bad)
		if _, err := bloom.NewSlicedView(bad); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("%s: view: %v, want ErrCorrupt", name, err)
		}
		if err := new(bloom.Sliced).UnmarshalBinary(bad); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
	}

	// Column 3 taken out of use with its bits left, and columns that cannot be.
	left := bytes.Clone(data)
	left[64] &^= 1 << 3
	beyond := bytes.Clone(data)
	beyond[64+8*5] = 1
	for name, bad := range map[string][]byte{"bits left": reseal(left), "column 320": reseal(beyond)} {
		var x bloom.Sliced
		_, readErr := x.ReadFrom(bytes.NewReader(bad))
		for _, err := range []error{x.UnmarshalBinary(bad), readErr} {
			if !errors.Is(err, bloomery.ErrCorrupt) || !strings.Contains(err.Error(), "not in use") {
				t.Errorf("%s: %v, want ErrCorrupt", name, err)
			}
		}
		v, err := bloom.NewSlicedView(bad)
		if err != nil {
			t.Fatal(err)
		}
		again, _ := v.Clone().MarshalBinary()
		if err := x.UnmarshalBinary(again); err != nil {
			t.Errorf("%s: the clone of the view: %v", name, err)
		}
	}
	v, _ := bloom.NewSlicedView(left)
	if has(which(t, v, sets[3][0]), 3) || !has(which(t, v, sets[4][0]), 4) {
		t.Error("a view finds keys in a column that is not in use, or forgets others")
	}
}
