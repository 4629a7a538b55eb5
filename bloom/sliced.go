package bloom

import (
	"fmt"
	"math/bits"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/sizing"
)

// Sliced is up to 1,024 filters of one shape that are asked together: which of
// them may hold a key? Each filter is a column of a matrix of bits whose rows
// are the positions of a Standard. The rows of the k positions of a key, ANDed,
// have a bit set for each filter that may hold it: k memory accesses for all
// filters together.
//
//	               column 0  1  2  3 ...
//	row 0                 1  0  0  1
//	row 1                 0  0  1  1   <- first position of the key
//	row 2                 0  1  0  0
//	row 3                 1  0  1  1   <- second position
//	                      ----------
//	both                  0  0  1  1   the key may be in 2 and 3
//
// All columns have the same capacity, false positive rate and hasher. Hash a
// key once, by Hash or by Hasher, and ask for the hash. A column is added, then
// filled key by key or replaced by a Standard of the same shape.
//
// Make one with Config.NewSliced. A zero Sliced has no columns and
// can only be replaced by UnmarshalBinary.
//
// Safe for concurrent readers; a writer needs exclusion.
type Sliced struct{ rows }

// NewSliced returns a Sliced for c.Columns columns, of which none is in use.
// Their number is rounded up to a multiple of 64, and above 256 to a multiple of 256.
// The rest of c describes one column, as for NewStandard; memory is taken for
// all of them at once. Its errors wrap ErrParameter or ErrTooLarge, or are
// those of Alloc.
func (c Config) NewSliced() (*Sliced, error) {
	if err := c.prepare("NewSliced", "Columns"); err != nil {
		return nil, fmt.Errorf("bloom: new sliced: %w", err)
	}
	if c.Columns < 1 || c.Columns > MaxColumns {
		return nil, fmt.Errorf("bloom: new sliced: %w: %d columns, there can be 1 to %d", bloomery.ErrParameter, c.Columns, MaxColumns)
	}
	shape, rate, err := c.shape(sizing.Standard)
	if err != nil {
		return nil, fmt.Errorf("bloom: new sliced: %w", err)
	}
	length := rowLength(c.Columns)
	n, err := slicedWords(shape.Bits, length)
	if err != nil {
		return nil, fmt.Errorf("bloom: new sliced: %w", err)
	}
	words, err := memory.Array(n, c.Alloc)
	if err != nil {
		return nil, fmt.Errorf("bloom: new sliced: %w", err)
	}
	return &Sliced{rows{base{hasher: c.Hasher, shape: shape, capacity: uint64(c.Capacity), rate: rate}, words, length}}, nil
}

// rowLength returns the words in a row for so many columns. Up to 4 words any
// number will do; beyond, rows are whole vectors of 4.
func rowLength(columns int) int {
	n := (columns + 63) / 64
	if n > 4 {
		n = (n + 3) / 4 * 4
	}
	return n
}

// slicedWords returns the size of the array.
func slicedWords(positions uint64, length int) (int, error) {
	over, total := bits.Mul64(positions, 64*uint64(length))
	if over != 0 || total > sizing.MaxBits {
		return 0, fmt.Errorf("%w: %d columns of %d bits", bloomery.ErrTooLarge, 64*length, positions)
	}
	return headWords + int(total/64), memory.Fits(total/8 + 8*headWords)
}

// AddColumn takes the lowest column that is not in use, empty, and returns its
// number. The error wraps ErrFull if there is none.
func (f *Sliced) AddColumn() (int, error) {
	f.mustBeMade()
	for i, w := range f.used() {
		if w != 1<<64-1 {
			free := bits.TrailingZeros64(^w)
			f.words[i] |= 1 << free
			return 64*i + free, nil
		}
	}
	return 0, fmt.Errorf("bloom: add column: %w: all %d columns are in use", bloomery.ErrFull, f.mostColumns())
}

// ClearColumn removes all keys from a column, which stays in use. It reads
// every row. The error wraps ErrParameter if the column is not in use.
func (f *Sliced) ClearColumn(column int) error {
	f.mustBeMade()
	if err := f.check(column); err != nil {
		return fmt.Errorf("bloom: clear column: %w", err)
	}
	f.empty(column)
	return nil
}

// RemoveColumn removes a column, so that AddColumn may return its number again.
// It reads every row. The error wraps ErrParameter if the column is not in use.
func (f *Sliced) RemoveColumn(column int) error {
	f.mustBeMade()
	if err := f.check(column); err != nil {
		return fmt.Errorf("bloom: remove column: %w", err)
	}
	f.empty(column)
	f.words[column/64] &^= 1 << (column % 64)
	return nil
}

// empty clears the bits of a column.
func (f *Sliced) empty(column int) {
	c := f.cell(column)
	for row := range f.shape.Bits {
		*c.word(row) &^= 1 << c.shift
	}
}

// ReplaceColumn replaces the keys of a column by those of o, which must have
// the shape and the hasher of f. It reads every row. The error wraps
// ErrParameter if the column is not in use, ErrIncompatible if o differs, which
// it names; f stays as it was.
func (f *Sliced) ReplaceColumn(column int, o *Standard) error {
	f.mustBeMade()
	if err := f.check(column); err != nil {
		return fmt.Errorf("bloom: replace column: %w", err)
	}
	if err := f.compatible(&o.base); err != nil {
		return fmt.Errorf("bloom: replace column: %w", err)
	}
	c := f.cell(column)
	for row := range f.shape.Bits {
		w := c.word(row)
		*w = *w&^(1<<c.shift) | bit(o.words, row)&1<<c.shift
	}
	return nil
}

// AddHash adds the key with hash h to a column and reports whether the column
// changed. The error wraps ErrParameter if the column is not in use.
func (f *Sliced) AddHash(column int, h uint64) (bool, error) {
	f.mustBeMade()
	if err := f.check(column); err != nil {
		return false, fmt.Errorf("bloom: add: %w", err)
	}
	return f.add(f.cell(column), h), nil
}

// AddHashes adds all of hs to a column, in order. If dst is not nil, dst[i]
// reports whether hs[i] changed the column; it panics if dst is then shorter
// than hs. The error is that of AddHash.
func (f *Sliced) AddHashes(column int, dst []bool, hs []uint64) error {
	f.mustBeMade()
	if err := f.check(column); err != nil {
		return fmt.Errorf("bloom: add: %w", err)
	}
	c := f.cell(column)
	if dst == nil {
		for _, h := range hs {
			f.add(c, h)
		}
		return nil
	}
	dst = dst[:len(hs):len(dst)]
	for i, h := range hs {
		dst[i] = f.add(c, h)
	}
	return nil
}

func (f *Sliced) add(c cells, h uint64) bool {
	fresh := uint64(0)
	for range f.shape.K {
		w, b := c.word(probe(h, f.shape.Bits)), uint64(1)<<c.shift
		fresh |= b &^ *w
		*w |= b
		h += probeStep
	}
	return fresh != 0
}

// Clone returns a Sliced of its own memory with the same columns.
func (f *Sliced) Clone() *Sliced { return f.clone() }

// Clear removes all keys from all columns, which stay in use.
func (f *Sliced) Clear() {
	f.mustBeMade()
	clear(f.words[headWords:])
}

// mustBeMade panics for a zero Sliced.
func (f *Sliced) mustBeMade() {
	if len(f.words) == 0 {
		panicZero("Config.NewSliced")
	}
}

// parseSliced returns the rows that h describes, without their words.
func parseSliced(h envelope.Header, given hashing.Hasher) (rows, error) {
	b, err := parseShape(h, envelope.KindSliced, sizing.Standard)
	if err != nil {
		return rows{}, err
	}
	length := int(h.Extra)
	if h.Extra < 1 || h.Extra > headWords || length != rowLength(64*length) {
		return rows{}, fmt.Errorf("%w: rows of %d words", bloomery.ErrCorrupt, h.Extra)
	}
	over, words := bits.Mul64(h.Size, uint64(length))
	if over != 0 || h.Payload/8 != words+headWords {
		return rows{}, fmt.Errorf("%w: payload of %d bytes for %d rows of %d words", bloomery.ErrCorrupt, h.Payload, h.Size, length)
	}
	b.hasher, err = h.Hasher(given)
	return rows{base: b, length: length}, err
}

// tidy returns an error if bits are set outside of the columns in use.
func (f *rows) tidy() error {
	used := f.used()
	stray := uint64(0)
	for _, w := range f.words[f.length:headWords] {
		stray |= w
	}
	for i := headWords; i < len(f.words); i += f.length {
		for j, u := range used {
			stray |= f.words[i+j] &^ u
		}
	}
	if stray != 0 {
		return fmt.Errorf("%w: bits in columns that are not in use", bloomery.ErrCorrupt)
	}
	return nil
}

// load makes f what a source holds; on error f stays as it was.
func (f *rows) load(given hashing.Hasher, from *envelope.Source) error {
	var got rows
	_, words, err := from.Words(func(h envelope.Header) (err error) {
		got, err = parseSliced(h, given)
		return err
	})
	if err != nil {
		return err
	}
	got.words = words
	if !from.InPlace {
		if err := got.tidy(); err != nil {
			return err
		}
	}
	*f = got
	return nil
}

// UnmarshalBinary replaces f by the Sliced that data encodes, see
// Filter.UnmarshalBinary.
func (f *Sliced) UnmarshalBinary(data []byte) error {
	return envelope.Unmarshal("bloom", data, f.hasher, f.load)
}
