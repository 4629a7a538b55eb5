// Package bip158 reads and writes the basic block filters of Bitcoin's BIP 158:
// Golomb-coded sets, which Neutrino and others fetch instead of blocks.
//
// A filter is a list of hashes, not an array of bits, and takes 22 bits for each key at a
// false positive rate of 1 in 784,931. It never changes. Its hash is SipHash-2-4 under a
// key that is not in the file: the first 16 bytes of the block's hash, in the order in
// which Bitcoin keeps it, which is the reverse of how it is printed. With a wrong key
// hardly any item is found.
package bip158

import (
	"bytes"
	"fmt"
	"math/bits"
	"slices"
	"sort"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/foreign/internal/compactsize"
	"github.com/bloomery/bloomery/hashing"
)

// Format is the name of the format.
const Format = "bip158"

// Constants of basic filters.
const (
	lowerBits = 19     // P: of a difference that are written as they are
	inverse   = 784931 // M: one over the false positive rate
	mostItems = 1<<32 - 1
)

// KeySize is the length of a key.
const KeySize = 16

var _ bloomery.Filter = (*Filter)(nil)

// Filter is a Golomb-coded set. The zero value contains nothing.
//
// Safe for concurrent use.
type Filter struct {
	hasher hashing.Hasher
	items  uint64
	stream []byte // of differences
	marks  []mark
}

// mark is a place in the stream from which it can be read.
type mark struct {
	value uint64 // the one before
	at    uint64 // in bits
}

// markEvery is how many values are between marks: a lookup reads half of them.
const markEvery = 64

// Build returns the filter of items, each of which counts once. The error wraps
// bloomery.ErrTooLarge for 2^32 items and more.
func Build(items [][]byte, key [KeySize]byte) (*Filter, error) {
	h := hashing.Keyed(key)
	hashes := make([]uint64, len(items))
	h.HashKeys(hashes, items)
	return BuildHashes(hashes, key)
}

// BuildHashes is Build for items whose SipHash-2-4 under the key is known. It sorts
// hashes.
func BuildHashes(hashes []uint64, key [KeySize]byte) (*Filter, error) {
	slices.Sort(hashes)
	hashes = slices.Compact(hashes)
	if uint64(len(hashes)) > mostItems {
		return nil, fmt.Errorf("bip158: build: %w: %d items, want at most %d", bloomery.ErrTooLarge, len(hashes), uint64(mostItems))
	}
	f := &Filter{hasher: hashing.Keyed(key), items: uint64(len(hashes))}
	w := writer{data: make([]byte, 0, len(hashes)*(lowerBits+3)/8+8)}
	last := uint64(0)
	for _, h := range hashes { // the order of hashes is that of values
		v := f.value(h)
		w.number(v - last)
		last = v
	}
	f.stream = w.data
	return f, f.mark()
}

// Open returns the filter in a file, which has the key that it was made with. Errors
// wrap bloomery.ErrCorrupt. They cannot find a wrong key.
func Open(data []byte, key [KeySize]byte) (*Filter, error) {
	items, stream, ok := compactsize.Cut(data)
	if !ok || items > mostItems || items > 8*uint64(len(stream))/(lowerBits+1) {
		return nil, fmt.Errorf("bip158: open: %w: %d items in %d bytes", bloomery.ErrCorrupt, items, len(stream))
	}
	f := &Filter{hasher: hashing.Keyed(key), items: items, stream: bytes.Clone(stream)}
	if err := f.mark(); err != nil {
		return nil, err
	}
	return f, nil
}

// mark reads the stream once: it sets the marks, and checks that the stream holds just
// the values that it should.
func (f *Filter) mark() error {
	f.marks = make([]mark, 0, (f.items+markEvery-1)/markEvery)
	r, value, end := reader{data: f.stream}, uint64(0), 8*uint64(len(f.stream))
	for i := range f.items {
		if i%markEvery == 0 {
			f.marks = append(f.marks, mark{value, r.at})
		}
		value += r.next()
		if r.at > end || value >= f.items*inverse {
			return fmt.Errorf("bip158: open: %w: item %d of %d is beyond the end", bloomery.ErrCorrupt, i+1, f.items)
		}
	}
	if end-r.at >= 8 || r.peek() != 0 {
		return fmt.Errorf("bip158: open: %w: %d bits behind the last item", bloomery.ErrCorrupt, end-r.at)
	}
	return nil
}

// value is where a hash is in the range of the filter.
func (f *Filter) value(h uint64) uint64 {
	v, _ := bits.Mul64(h, f.items*inverse)
	return v
}

// Hash returns the SipHash-2-4 of key, as BuildHashes takes it.
func (f *Filter) Hash(key []byte) uint64 { return f.hasher.Hash(key) }

// Contains reports whether key may be in the set.
func (f *Filter) Contains(key []byte) bool {
	if f.items == 0 {
		return false
	}
	want := f.value(f.hasher.Hash(key))
	first := sort.Search(len(f.marks), func(i int) bool { return f.marks[i].value > want }) - 1
	m := f.marks[first]
	if first > 0 && m.value == want {
		return true
	}
	r, value := reader{f.stream, m.at}, m.value
	for range min(markEvery, f.items-markEvery*uint64(first)) {
		if value += r.next(); value >= want {
			return value == want
		}
	}
	return false
}

// ContainsKeys sets dst[i] to Contains(keys[i]). It panics if dst is shorter than keys.
func (f *Filter) ContainsKeys(dst []bool, keys [][]byte) {
	dst = dst[:len(keys)]
	for i, key := range keys {
		dst[i] = f.Contains(key)
	}
}

// Stats returns the state of the filter. Its rate is that of the format, whatever the
// number of items.
func (f *Filter) Stats() bloomery.Stats {
	s := bloomery.Stats{
		Kind: Format, Capacity: f.items, Items: f.items, Exact: true,
		Bits: 8 * uint64(len(f.stream)), Bytes: uint64(len(f.stream) + 16*len(f.marks)), Asked: 1.0 / inverse,
	}
	if f.items > 0 {
		s.Saturation, s.Predicted = 1, 1.0/inverse
	}
	return s
}

// String returns Stats as a line of text.
func (f *Filter) String() string { return f.Stats().String() }

// AppendBinary appends the filter as a file. There is no error.
func (f *Filter) AppendBinary(dst []byte) ([]byte, error) {
	return append(compactsize.Append(dst, f.items), f.stream...), nil
}

// MarshalBinary is AppendBinary to a new slice.
func (f *Filter) MarshalBinary() ([]byte, error) { return f.AppendBinary(nil) }
