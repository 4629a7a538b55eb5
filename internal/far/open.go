// Package far asks filters where they lie, in a file or behind a network: a lookup reads the
// cache lines of its key and nothing else. It is what the Config.At of all families share.
//
//	hashes ─► family: which words? ─► lines that are missing ─► ranges ─► io.ReaderAt
//	             ▲                                                            │
//	             └───────────────── lines, as long as they are needed ◄───────┘
package far

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/fields"
)

// Source is an encoding that lies elsewhere, whose header has been checked.
type Source struct {
	Header envelope.Header
	in     reader
	front  []byte // the first bytes of the payload, as they were read
}

// Found is what a family knows of a filter from its header and the front of its payload.
type Found struct {
	Hasher hashing.Hasher
	Stats  bloomery.Stats
	// Has looks a hash up. known is false if p has not all words yet that it asked for.
	Has func(p *Parts, h uint64) (found, known bool)
}

// Open opens the filter that begins at the first byte of r. find is the family's.
func Open(o envelope.Opening, r io.ReaderAt, find func(*Source) (Found, error)) (bloomery.Far, error) {
	f, err := open(o, r, find)
	if err != nil {
		return nil, fmt.Errorf("%s: at: %w", o.Package, err)
	}
	return f, nil
}

func open(o envelope.Opening, r io.ReaderAt, find func(*Source) (Found, error)) (*Filter, error) {
	if err := fields.Only(o.Config, "At", "Hasher"); err != nil {
		return nil, err
	}
	s := &Source{in: reader{r: r, count: new(counts)}}
	if p, ok := r.(*Peeked); ok {
		s.in.r = p.ReaderAt
		s.Header = p.Header
		s.in.count.add(envelope.HeaderSize)
	} else {
		var err error
		if s.Header, err = s.in.header(func([]byte) error { return nil }); err != nil {
			return nil, err
		}
	}
	found, err := find(s)
	if err != nil {
		return nil, err
	}
	return &Filter{
		found: found, header: s.Header, in: s.in, front: s.front, pkg: o.Package,
		verified: map[uint64]bool{}, cache: cache{lines: map[uint64]line{}},
	}, nil
}

// Peeked is a reader whose header was read and checked already.
type Peeked struct {
	io.ReaderAt
	Header envelope.Header
}

// Peek reads and checks the header of the encoding that begins at the first byte of r. accept sees
// its bytes first and may refuse them.
func Peek(r io.ReaderAt, accept func(head []byte) error) (*Peeked, error) {
	h, err := (&reader{r: r, count: new(counts)}).header(accept)
	return &Peeked{r, h}, err
}

// Front returns the first n words of the payload, which lookups depend on. They count as
// verified once their chunks are. Memory grows with the bytes that arrive.
func (s *Source) Front(n uint64) ([]uint64, error) {
	if n > s.Header.Payload/8 {
		return nil, fmt.Errorf("%w: a payload of %d bytes begins with %d words", bloomery.ErrCorrupt, s.Header.Payload, n)
	}
	var err error
	if s.front, err = s.in.all(envelope.HeaderSize, 8*n); err != nil {
		return nil, err
	}
	words := make([]uint64, n)
	envelope.GetWords(words, s.front)
	return words, nil
}

// reader reads parts of an encoding, and counts them.
type reader struct {
	r     io.ReaderAt
	count *counts
}

// header reads and checks the header.
func (r *reader) header(accept func(head []byte) error) (envelope.Header, error) {
	var head [envelope.HeaderSize]byte
	if err := r.full(head[:], 0); err != nil {
		return envelope.Header{}, err
	}
	if err := accept(head[:]); err != nil {
		return envelope.Header{}, err
	}
	return envelope.ParseHeader(head[:])
}

// full fills b with the bytes from offset on.
func (r *reader) full(b []byte, offset uint64) error {
	r.count.add(uint64(len(b)))
	n, err := r.r.ReadAt(b, int64(offset))
	switch {
	case n == len(b):
		return nil
	case err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: data ends after %d bytes: %w", bloomery.ErrCorrupt, offset+uint64(max(n, 0)), io.ErrUnexpectedEOF)
	}
	return err
}

// all returns n bytes from offset on, in reads of one chunk each: memory grows with the bytes
// that arrive.
func (r *reader) all(offset, n uint64) ([]byte, error) {
	var b bytes.Buffer
	for n > 0 {
		part := min(n, envelope.ChunkSize)
		b.Grow(int(part))
		piece := b.AvailableBuffer()[:part]
		if err := r.full(piece, offset); err != nil {
			return nil, err
		}
		b.Write(piece)
		offset, n = offset+part, n-part
	}
	return b.Bytes(), nil
}
