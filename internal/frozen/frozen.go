// Package frozen has filters as they were at one moment, which others go on changing.
package frozen

import (
	"io"
	"slices"

	"github.com/bloomery/bloomery/internal/envelope"
)

// Copy is a filter as it was at one moment: its encoding can be written while the filter
// goes on changing.
//
// Before and Detach need exclusion, like a write. WriteTo, which can be called once, reads the
// filter between two calls of Write of its writer, like any reader: during such a call the
// filter may change. The memory of the filter has to stay until WriteTo has ended, or until
// Detach.
type Copy interface {
	io.WriterTo
	// Size returns the length of the encoding.
	Size() int64
	// Saved returns how many bytes changes have made the copy put aside. It is hardly ever more than the
	// filter takes.
	Saved() int
	// Before has to be called before keys with the hashes hs are added, inserted or deleted. Where
	// a change can move what others have put there, as inserts do, it is called for one at a
	// time.
	Before(hs []uint64)
	// Detach copies what was not written yet: from then on the filter may be changed in any way, and
	// its memory be given back. The first call does that, others do nothing.
	Detach()
}

const (
	// pageWords is what one change may have to put aside: 4 KiB.
	pageWords = 512
	// pieceWords is how much is copied at a time: 32 KiB.
	pieceWords = 8 * pageWords
)

// Touches calls save with the words of an array, from one up to another, that the next change
// by a key with hash h can change. More of them do no harm, nor do words behind the array.
type Touches func(h uint64, save func(from, to int))

// Pages is a Copy of a filter of one array. A page that is about to change, and was not written
// yet, is put aside.
//
//	written so far      to be written
//	├──────────────────┼──────────────────────────────────┤
//	 page page page page page page page page
//	                          └ put aside by Before
type Pages struct {
	// Scrub, if it is not nil, is called with words that were copied from the array, and where they begin there: it
	// makes of them what the encoding has.
	Scrub func(words []uint64, from int)

	header   envelope.Header
	preface  []uint64 // of the payload, before the array
	words    []uint64
	touches  Touches
	save     func(from, to int)
	read     int              // words before it were written
	aside    map[int][]uint64 // by their numbers
	detached bool
}

var _ Copy = (*Pages)(nil)

// NewPages returns the copy of a filter whose payload is a preface, which nobody changes, and an
// array.
func NewPages(h envelope.Header, preface, words []uint64, touches Touches) *Pages {
	z := &Pages{header: h, preface: preface, words: words, touches: touches, aside: map[int][]uint64{}}
	z.save = z.put
	return z
}

// Before implements Copy.
func (z *Pages) Before(hs []uint64) {
	if z.detached || z.read == len(z.words) {
		return
	}
	for _, h := range hs {
		z.touches(h, z.save)
	}
}

// BeforeWords has to be called before words of the array, from one up to another, are changed in any way.
func (z *Pages) BeforeWords(from, to int) {
	if !z.detached {
		z.put(from, to)
	}
}

// put puts the pages of words aside.
func (z *Pages) put(from, to int) {
	from, to = max(from, z.read), min(to, len(z.words))
	for page := from / pageWords; page*pageWords < to; page++ {
		if _, ok := z.aside[page]; !ok {
			z.aside[page] = slices.Clone(z.words[page*pageWords : min((page+1)*pageWords, len(z.words))])
			z.scrub(z.aside[page], page*pageWords)
		}
	}
}

func (z *Pages) scrub(words []uint64, from int) {
	if z.Scrub != nil && !z.detached {
		z.Scrub(words, from)
	}
}

// Detach implements Copy.
func (z *Pages) Detach() {
	if z.detached || z.read == len(z.words) {
		return
	}
	rest := make([]uint64, len(z.words)) // what was written is not touched, and takes no memory
	copy(rest[z.read:], z.words[z.read:])
	z.scrub(rest[z.read:], z.read)
	z.detached = true
	for page, old := range z.aside {
		copy(rest[page*pageWords:], old)
	}
	clear(z.aside)
	z.words = rest
}

// Size implements Copy.
func (z *Pages) Size() int64 { return int64(z.header.EncodedSize()) }

// Saved implements Copy.
func (z *Pages) Saved() int {
	if z.detached {
		return 8 * (len(z.words) - z.read)
	}
	return 8 * pageWords * len(z.aside)
}

// WriteTo implements Copy.
func (z *Pages) WriteTo(w io.Writer) (int64, error) {
	buf := make([]uint64, pieceWords)
	return envelope.WriteSeq(w, z.header, func(yield func([]uint64, error) bool) {
		for more := yield(z.preface, nil); more && z.read < len(z.words); {
			more = yield(z.next(buf), nil)
		}
	})
}

// next returns the next words as they were.
func (z *Pages) next(buf []uint64) []uint64 {
	buf = buf[:copy(buf, z.words[z.read:])]
	z.scrub(buf, z.read)
	for at := 0; at < len(buf); at += pageWords {
		page := (z.read + at) / pageWords
		if old, ok := z.aside[page]; ok {
			copy(buf[at:], old)
			delete(z.aside, page)
		}
	}
	z.read += len(buf)
	return buf
}
