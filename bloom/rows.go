package bloom

import (
	"fmt"
	"io"
	"iter"
	"math"
	"math/bits"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/kernel"
	"github.com/bloomery/bloomery/internal/memory"
)

const (
	// MaxColumns is the largest number of filters in a Sliced.
	MaxColumns = 64 * kernel.MaxRow
	// headWords is the length of the bitmap of columns in use that stands
	// before the rows: as many words as the longest row has, so that rows
	// begin at a cache line.
	headWords = kernel.MaxRow
	// ahead is how many positions are computed before their rows are read.
	ahead = 16
	// sampleRows is how many rows Stats looks at at least, and sampleCells how
	// many words of rows it looks at if that are more.
	sampleRows  = 1024
	sampleCells = 1 << 16
)

// rows is a sliced array that is only read: what Sliced and its view share.
// The shape is that of one column.
type rows struct {
	base
	words  []uint64 // bit i of the first ones: column i is in use; then the rows
	length int      // words in a row
}

// used returns the bitmap of the columns in use.
func (f *rows) used() []uint64 { return f.words[:f.length] }

// mostColumns returns how many columns can be in use.
func (f *rows) mostColumns() int { return 64 * f.length }

// Words returns the number of words that Which fills: a 64th of the columns that can be in use.
func (f *rows) Words() int { return f.length }

// Len returns the number of columns in use.
func (f *rows) Len() int { return int(count(f.used())) }

// Columns returns the numbers of the columns in use, in ascending order.
func (f *rows) Columns() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, w := range f.used() {
			for ; w != 0; w &= w - 1 {
				if !yield(64*i + bits.TrailingZeros64(w)) {
					return
				}
			}
		}
	}
}

// Which sets bit i of dst, that is bit i mod 64 of dst[i/64], if the key with
// hash h may be in column i, and clears it if the key certainly is not, or if
// the column is not in use. It costs k memory accesses for all columns
// together. It fills Words words and panics if dst is shorter.
func (f *rows) Which(dst []uint64, h uint64) {
	dst = dst[:f.length:len(dst)]
	copy(dst, f.words)
	m := f.shape.Bits
	var at [ahead]uint64
	for k := f.shape.K; k > 0; {
		n := min(k, ahead)
		for i := range n {
			at[i] = probe(h, m)
			h += probeStep
		}
		kernel.AndRows(dst, f.words[headWords:], at[:n])
		k -= n
	}
}

// ContainsHash reports whether the key with hash h may be in a column. False
// is certain. The error wraps ErrParameter if the column is not in use.
func (f *rows) ContainsHash(column int, h uint64) (bool, error) {
	if err := f.check(column); err != nil {
		return false, fmt.Errorf("bloom: contains: %w", err)
	}
	c := f.cell(column)
	b := uint64(1)
	for range f.shape.K {
		b &= *c.word(probe(h, f.shape.Bits)) >> c.shift
		h += probeStep
	}
	return b&1 != 0, nil
}

// check returns an error if a column is not in use.
func (f *rows) check(column int) error {
	if column < 0 || column >= f.mostColumns() {
		return fmt.Errorf("%w: column %d, there are 0 to %d", bloomery.ErrParameter, column, f.mostColumns()-1)
	}
	if f.words[column/64]>>(column%64)&1 == 0 {
		return fmt.Errorf("%w: column %d is not in use", bloomery.ErrParameter, column)
	}
	return nil
}

// cells are the bits of one column.
type cells struct {
	words  []uint64 // the rows from the word of the column on
	length uint64
	shift  uint // the bit of the column in its word
}

func (f *rows) cell(column int) cells {
	return cells{f.words[headWords+column/64:], uint64(f.length), uint(column % 64)}
}

// word returns the word in the given row that holds the bit of the column.
func (c cells) word(row uint64) *uint64 { return &c.words[row*c.length] }

// Column returns a Standard of its own memory with the keys of a column. The
// error wraps ErrParameter if the column is not in use.
func (f *rows) Column(column int) (*Standard, error) {
	if err := f.check(column); err != nil {
		return nil, fmt.Errorf("bloom: column: %w", err)
	}
	c, w := f.cell(column), memory.Words(int(wordsFor(f.shape.Bits)))
	for row := range f.shape.Bits {
		w[row/64] |= *c.word(row) >> c.shift & 1 << (row % 64)
	}
	return &Standard{flatSet{newFlat(f.base, w)}}, nil
}

// String returns Stats as a line of text.
func (f *rows) String() string { return f.Stats().String() }

// Stats describes the state of all columns together: Items is the number of
// keys in all of them, Capacity that of one column times the columns in use,
// Saturation and Predicted are means over the columns in use. Bits and Bytes
// are those of all columns that can be in use. It looks at 1024 rows, or at
// as many more as lie in half a megabyte.
func (f *rows) Stats() bloomery.Stats {
	if len(f.words) == 0 {
		return bloomery.Stats{Kind: "sliced"}
	}
	var items, rates, variance, full float64
	sets, looked := f.sample()
	for c := range f.Columns() {
		x := f.sampled(uint64(sets[c]), looked)
		items += f.shape.Count(x.Fill)
		rates += x.Rate
		variance += x.Sigma * x.Sigma
		full += x.Fill
	}
	n := max(1, float64(f.Len()))
	return bloomery.Stats{
		Kind:       "sliced",
		Capacity:   f.capacity * uint64(f.Len()),
		Items:      round(items),
		Bits:       f.shape.Bits * uint64(f.mostColumns()),
		Bytes:      uint64(len(f.words)) * 8,
		Saturation: full / n,
		Asked:      f.rate,
		Predicted:  rates / n,

		PredictedSigma: math.Sqrt(variance) / n,
	}
}

// sampled returns what follows from so many set bits among those of a column
// that were looked at.
func (f *rows) sampled(set, looked uint64) kernel.Sampled {
	rate := func(fill float64) float64 { return f.shape.Rate(f.shape.Count(fill)) }
	fill := float64(set) / float64(looked)
	left := 1 - float64(looked)/float64(f.shape.Bits)
	sigma := math.Sqrt(fill * (1 - fill) / float64(looked) * left)
	return kernel.Sampled{Fill: fill, Rate: rate(fill), Sigma: (rate(min(1, fill+sigma)) - rate(max(0, fill-sigma))) / 2}
}

// ColumnStats describes the state of one column, as Stats of its Standard
// would, from up to 65,536 rows. The error wraps ErrParameter if the column is
// not in use.
func (f *rows) ColumnStats(column int) (bloomery.Stats, error) {
	if err := f.check(column); err != nil {
		return bloomery.Stats{}, fmt.Errorf("bloom: column stats: %w", err)
	}
	c, m := f.cell(column), f.shape.Bits
	looked, set := min(m, sampleCells), uint64(0)
	for i := range looked {
		set += *c.word(spread(i, looked, m)) >> c.shift & 1
	}
	x := f.sampled(set, looked)
	return bloomery.Stats{
		Kind:       "standard",
		Capacity:   f.capacity,
		Items:      round(f.shape.Count(x.Fill)),
		Bits:       m,
		Bytes:      wordsFor(m) * 8,
		Saturation: x.Fill,
		Asked:      f.rate,
		Predicted:  x.Rate,

		PredictedSigma: x.Sigma,
	}, nil
}

// sample counts, for each column, the set bits of some rows.
func (f *rows) sample() (sets [MaxColumns]uint32, looked uint64) {
	looked = min(f.shape.Bits, max(sampleRows, sampleCells/max(1, uint64(f.length))))
	for i := range looked {
		row := spread(i, looked, f.shape.Bits)
		for j, w := range f.words[headWords+row*uint64(f.length):][:f.length] {
			for ; w != 0; w &= w - 1 {
				sets[64*j+bits.TrailingZeros64(w)]++
			}
		}
	}
	return sets, looked
}

// spread returns the i-th of n rows that are evenly spread over m.
func spread(i, n, m uint64) uint64 {
	hi, lo := bits.Mul64(i, m)
	row, _ := bits.Div64(hi, lo, n)
	return row
}

// clone returns a Sliced of its own memory with the same columns.
func (f *rows) clone() *Sliced {
	w := memory.Words(len(f.words))
	used := f.used()
	copy(w, used)
	for i := headWords; i < len(w); i += f.length {
		// A damaged view may have bits in columns that are not in use.
		for j, u := range used {
			w[i+j] = f.words[i+j] & u
		}
	}
	return &Sliced{rows{f.base, w, f.length}}
}

// header returns the header of the encoding.
func (f *rows) header() envelope.Header {
	h := f.base.header(envelope.KindSliced, f.words)
	h.Extra = uint32(f.length)
	return h
}

// AppendBinary appends the encoding of all columns to dst. The error is nil but
// for a zero Sliced.
func (f *Sliced) AppendBinary(dst []byte) ([]byte, error) {
	if len(f.words) == 0 {
		return dst, errZero("marshal")
	}
	return envelope.Append(dst, f.header(), f.words), nil
}

// MarshalBinary returns the encoding of all columns. The error is nil but for
// a zero Sliced.
func (f *Sliced) MarshalBinary() ([]byte, error) { return f.AppendBinary(nil) }

// WriteTo writes the encoding of all columns to w.
func (f *Sliced) WriteTo(w io.Writer) (int64, error) {
	if len(f.words) == 0 {
		return 0, errZero("write")
	}
	return envelope.WriteTo(w, f.header(), f.words)
}
