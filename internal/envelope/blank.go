package envelope

import (
	"fmt"

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
