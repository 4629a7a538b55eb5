package snapshot

// Part files of which others get what they need.

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/folder"
)

// Picked is a part file as it would be with a part of its contents alone, and under another
// number. Nothing of it is kept in memory but where its frames are.
//
// Safe for concurrent use of ReadAt.
type Picked struct {
	from   folder.Reader
	number uint64 // of from
	as     uint64
	frames []pickedFrame
	size   int64
}

// pickedFrame is a frame of the file.
type pickedFrame struct {
	at  int64 // in the file that it comes from
	off int64 // in what is read
	n   int   // with its header
}

var _ folder.Reader = (*Picked)(nil)

// pickedHead is how much of a frame is read to know whose it is: the header and an id.
const pickedHead = folder.FrameHeader + 10

// Pick makes from, a part file of a number, one with another number that has the contents of
// those ids alone that wanted says. It takes over from. The error wraps bloomery.ErrCorrupt, or is
// that of from.
func Pick(from folder.Reader, number, as uint64, wanted func(id uint64) bool) (*Picked, error) {
	p := &Picked{from: from, number: number, as: as}
	head := make([]byte, pickedHead)
	for at := int64(0); at < from.Size(); {
		got, err := from.ReadAt(head, at)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if got < folder.FrameHeader {
			return nil, fmt.Errorf("offset %d: %w: frame cut short", at, bloomery.ErrCorrupt)
		}
		n, err := folder.FrameLength(head)
		if err != nil {
			return nil, fmt.Errorf("offset %d: %w", at, err)
		}
		c := folder.Cursor{Rest: head[folder.FrameHeader:min(got, folder.FrameHeader+n)]}
		id := c.Uvarint()
		n += folder.FrameHeader
		if c.Bad || int64(n) > from.Size()-at {
			return nil, fmt.Errorf("offset %d: %w: frame cut short", at, bloomery.ErrCorrupt)
		}
		if wanted(id) {
			p.frames = append(p.frames, pickedFrame{at, p.size, n})
			p.size += int64(n)
		}
		at += int64(n)
	}
	return p, nil
}

// Size implements folder.Reader.
func (p *Picked) Size() int64 { return p.size }

// Close implements folder.Reader.
func (p *Picked) Close() error { return p.from.Close() }

// Read implements folder.Reader. It is not needed: files of a copy are read from where a client
// says.
func (p *Picked) Read([]byte) (int, error) { return 0, errors.ErrUnsupported }

// ReadAt implements folder.Reader. It checks the frames that it reads.
func (p *Picked) ReadAt(b []byte, off int64) (n int, err error) {
	i, found := slices.BinarySearchFunc(p.frames, off, func(f pickedFrame, off int64) int { return cmp.Compare(f.off, off) })
	if !found {
		i--
	}
	var frame []byte
	for ; n < len(b) && i >= 0 && i < len(p.frames); i++ {
		f := &p.frames[i]
		frame = slices.Grow(frame[:0], f.n)[:f.n]
		if _, err := p.from.ReadAt(frame, f.at); err != nil && !errors.Is(err, io.EOF) {
			return n, err
		}
		fr, err := folder.ParseFrame(frame, folder.PartFrame)
		if err == nil && (fr.A != p.number || fr.B != uint64(f.at)) {
			err = fmt.Errorf("%w: frame of another place", bloomery.ErrCorrupt)
		}
		if err != nil {
			return n, &folder.Damage{File: folder.PartName(p.number), Err: fmt.Errorf("offset %d: %w", f.at, err)}
		}
		folder.SealFrame(frame, folder.PartFrame, p.as, uint64(f.off))
		if from := off + int64(n) - f.off; from < int64(f.n) {
			n += copy(b[n:], frame[from:])
		}
	}
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// Pick makes each part file one with some of its contents, under another number: as returns that,
// and which contents, nil for a file that is not needed.
func (h *Held) Pick(as func(number uint64) (uint64, func(id uint64) bool)) error {
	names, readers := h.Names, h.Readers
	h.Names, h.Readers = nil, nil
	var failed error
	for i, r := range readers {
		number, part := folder.ParsePartName(names[i])
		if !part {
			h.Names, h.Readers = append(h.Names, names[i]), append(h.Readers, r)
			continue
		}
		other, wanted := as(number)
		if wanted == nil || failed != nil {
			_ = r.Close() // it was only read
			continue
		}
		p, err := Pick(r, number, other, wanted)
		if err != nil {
			_ = r.Close()
			failed = &folder.Damage{File: names[i], Err: err}
			continue
		}
		h.Names, h.Readers = append(h.Names, folder.PartName(other)), append(h.Readers, p)
	}
	return failed
}
