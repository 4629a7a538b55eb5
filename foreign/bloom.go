package foreign

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/bloomery/bloomery"
)

var _ bloomery.Filter = (*Bloom)(nil)

// Bloom is a Bloom filter of another system. The packages of the formats make it. The
// zero value contains nothing and takes no keys.
//
// Safe for concurrent readers; a writer needs exclusion.
type Bloom struct {
	layout   Layout
	words    []uint64
	items    uint64 // if the layout counts
	has, set func(bit uint64) bool
	changed  bool // by set
}

// Layout returns the filter's layout.
func (b *Bloom) Layout() Layout { return b.layout }

// Contains reports whether key may have been added.
func (b *Bloom) Contains(key []byte) bool {
	if b.layout.Bits == 0 {
		return b.layout.Rule != nil
	}
	return b.layout.Rule(key, b.layout.Bits, b.layout.Probes, b.has)
}

// ContainsKeys sets dst[i] to Contains(keys[i]). It panics if dst is shorter than keys.
func (b *Bloom) ContainsKeys(dst []bool, keys [][]byte) {
	dst = dst[:len(keys)]
	for i, key := range keys {
		dst[i] = b.Contains(key)
	}
}

// Add adds key and reports whether the filter changed. False means that the key was, or
// seemed to be, there already. It panics for a zero Bloom.
func (b *Bloom) Add(key []byte) bool {
	if b.layout.Rule == nil {
		panic("foreign: Add to a zero Bloom: the packages of formats make them")
	}
	if b.layout.Bits == 0 {
		return false
	}
	b.changed = false
	b.layout.Rule(key, b.layout.Bits, b.layout.Probes, b.set)
	if b.changed {
		b.count(1)
	}
	return b.changed
}

// Union adds all keys of o to b. The error wraps bloomery.ErrIncompatible if their
// layouts differ; then nothing has changed. A format that counts its keys counts those
// that are in both twice.
func (b *Bloom) Union(o *Bloom) error {
	l, r := b.layout, o.layout
	differ := func(what string, x, y any) error {
		return fmt.Errorf("foreign: union: %w: %s %v and %v", bloomery.ErrIncompatible, what, x, y)
	}
	switch {
	case l.Format != r.Format:
		return differ("formats", l.Format, r.Format)
	case l.Variant != r.Variant:
		return differ("variants", l.Variant, r.Variant)
	case l.Seed != r.Seed:
		return differ("seeds", l.Seed, r.Seed)
	case l.Bits != r.Bits:
		return differ("bits", l.Bits, r.Bits)
	case l.Probes != r.Probes:
		return differ("bits for a key", l.Probes, r.Probes)
	}
	for i, w := range o.words {
		b.words[i] |= w
	}
	b.count(o.items)
	return nil
}

// count counts keys. A file may claim any number of them: a sum that is too large stays
// the largest there is, and does not begin again at 0.
func (b *Bloom) count(n uint64) { b.items += min(n, math.MaxUint64-b.items) }

// Items returns the number of keys, as the file counts them. It is 0 for formats that do
// not count: see Stats for an estimate.
func (b *Bloom) Items() uint64 {
	if !b.layout.Counts {
		return 0
	}
	return b.items
}

// SetItems sets the number of keys that a file counts.
func (b *Bloom) SetItems(n uint64) { b.items = n }

// AppendLittle appends the first n bytes of the array, the lowest bit of each byte
// first. Behind the array come zeros.
func (b *Bloom) AppendLittle(dst []byte, n int) []byte {
	for _, w := range b.words {
		if n < 8 {
			var last [8]byte
			binary.LittleEndian.PutUint64(last[:], w)
			return append(dst, last[:n]...)
		}
		dst = binary.LittleEndian.AppendUint64(dst, w)
		n -= 8
	}
	return append(dst, make([]byte, n)...)
}

// AppendBig appends the array as 64-bit words in big-endian order.
func (b *Bloom) AppendBig(dst []byte) []byte {
	for _, w := range b.words {
		dst = binary.BigEndian.AppendUint64(dst, w)
	}
	return dst
}

// Words returns the number of 64-bit words of the array.
func (b *Bloom) Words() int { return len(b.words) }

// AppendBinary appends the filter as the other system reads it. The error wraps
// bloomery.ErrIncompatible if filters of the format are only read here, or if this one
// is too large for it.
func (b *Bloom) AppendBinary(dst []byte) ([]byte, error) {
	if b.layout.Append == nil {
		return dst, fmt.Errorf("foreign: marshal: %w: filters of %s are only read", bloomery.ErrIncompatible, b.layout.named())
	}
	return b.layout.Append(dst, b)
}

// named is the name of the format, which a zero layout does not have.
func (l Layout) named() string {
	if l.Format == "" {
		return "no format"
	}
	return l.Format
}

// MarshalBinary is AppendBinary to a new slice.
func (b *Bloom) MarshalBinary() ([]byte, error) {
	const header = 64 // more than any has, but what is attached to some
	return b.AppendBinary(make([]byte, 0, header+8*len(b.words)))
}

// WriteTo writes the filter as the other system reads it.
func (b *Bloom) WriteTo(w io.Writer) (int64, error) {
	data, err := b.MarshalBinary()
	if err != nil {
		return 0, err
	}
	n, err := w.Write(data)
	return int64(n), err
}

// errJSON says where the bytes are: JSON of unexported fields would be {}, and no key
// would come back.
var errJSON = errors.New("foreign: there is no JSON form: take the bytes of MarshalBinary, which JSON holds as base64")

// MarshalJSON returns an error that names MarshalBinary: there is no JSON form.
func (b *Bloom) MarshalJSON() ([]byte, error) { return nil, errJSON }
