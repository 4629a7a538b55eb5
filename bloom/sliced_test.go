package bloom_test

import (
	"bytes"
	"math"
	"math/bits"
	"slices"
	"testing"

	"github.com/bloomery/bloomery/bloom"
)

// filled returns a Sliced whose columns, all of them, hold each hashes of
// their own.
func filled(tb testing.TB, columns, each int, p float64) (*bloom.Sliced, [][]uint64) {
	tb.Helper()
	s := sliced(columns, each, p)
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
		if 64*s.Words() < columns || s.Len() != columns {
			t.Fatalf("%d columns: Len() = %d, Words() = %d", columns, s.Len(), s.Words())
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
			for i := range 64 * s.Words() {
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
	s, o := sliced(70, 1000, 0.01), bloom.NewStandard(1000, 0.01)
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

// TestWhichOfOneBit asks all columns for a key that sets one bit.
func TestWhichOfOneBit(t *testing.T) {
	f, err := bloom.Config{Columns: 2, Bits: 1024, Hashes: 1}.NewSliced()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := f.AddColumn(); err != nil {
			t.Fatal(err)
		}
	}
	hs := hashes(2, 1)
	if _, err := f.AddHash(1, hs[0]); err != nil {
		t.Fatal(err)
	}
	for i, want := range []uint64{1 << 1, 0} {
		dst := make([]uint64, f.Words())
		if f.Which(dst, hs[i]); dst[0] != want {
			t.Errorf("key %d is in the columns %b, want %b", i, dst[0], want)
		}
	}
}
