package envelope

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/memory"
)

// Blank is an encoding whose payload is zeros but for some words. It is passed
// where a reader is asked for: Read makes the filter without reading, so that an
// array of any size costs no more than its memory. It has no checksums.
type Blank struct {
	Header Header
	Words  []Word // in rising order
}

// Word is a word of a payload that is not zero.
type Word struct{ Index, Value uint64 }

// Read implements io.Reader. Nobody reads a Blank.
func (*Blank) Read([]byte) (int, error) {
	return 0, fmt.Errorf("%w: a blank is not read", bloomery.ErrCorrupt)
}

// Is reports whether b has a header, and a payload of words and then of zeros.
func (b *Blank) Is(h Header, words []uint64) bool {
	left := b.Words
	for i, w := range words {
		if w == 0 {
			continue
		}
		if len(left) == 0 || left[0] != (Word{uint64(i), w}) {
			return false
		}
		left = left[1:]
	}
	return len(left) == 0 && b.Header == h
}

// At returns a word of the payload.
func (b *Blank) At(index uint64) uint64 {
	if i, ok := slices.BinarySearchFunc(b.Words, index, Word.compare); ok {
		return b.Words[i].Value
	}
	return 0
}

func (w Word) compare(index uint64) int { return cmp.Compare(w.Index, index) }

// Within returns the encoding of so many bytes that lies in the payload from a word on. Its checksums are left out.
func (b *Blank) Within(index, bytes uint64) (*Blank, error) {
	if all := b.Header.Payload / 8; index > all || bytes > 8*(all-index) {
		return nil, fmt.Errorf("%w: %d bytes from word %d of %d on", bloomery.ErrCorrupt, bytes, index, all)
	}
	var head [HeaderSize]byte
	for i := range uint64(len(head)) / 8 {
		binary.LittleEndian.PutUint64(head[8*i:], b.At(index+i))
	}
	h, err := ParseHeader(head[:])
	if err == nil && h.EncodedSize() != bytes {
		err = fmt.Errorf("%w: %d bytes, the header says %d", bloomery.ErrCorrupt, bytes, h.EncodedSize())
	}
	if err != nil {
		return nil, err
	}
	index += uint64(len(head)) / 8
	from, _ := slices.BinarySearchFunc(b.Words, index, Word.compare)
	to, _ := slices.BinarySearchFunc(b.Words, index+h.Payload/8, Word.compare)
	words := slices.Clone(b.Words[from:to])
	for i := range words {
		words[i].Index -= index
	}
	return &Blank{h, words}, nil
}

// words returns header and payload, as ReadIn does.
func (b *Blank) words(alloc memory.Alloc, accept func(Header) error) (Header, []uint64, int64, error) {
	h := b.Header
	if err := accept(h); err != nil {
		return Header{}, nil, 0, err
	}
	if err := memory.Fits(h.Payload); err != nil {
		return Header{}, nil, 0, err
	}
	words, err := memory.Array(int(h.Payload/8), alloc)
	if err != nil {
		return Header{}, nil, 0, err
	}
	for _, w := range b.Words {
		if w.Index >= uint64(len(words)) {
			return Header{}, nil, 0, fmt.Errorf("%w: word %d of a payload of %d bytes", bloomery.ErrCorrupt, w.Index, h.Payload)
		}
		words[w.Index] = w.Value
	}
	return h, words, 0, nil
}
