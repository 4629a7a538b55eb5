package snapshot

// Part files of which others get what they need.

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/wire"
)

// Picked is a part file as it would be with a part of its contents alone, and under another
// number. What is kept of it in memory is where its frames are, and one frame: it is longer than the pieces
// in which it is read.
//
// Safe for concurrent use of ReadAt.
type Picked struct {
	from   folder.Reader
	number uint64 // of from
	as     uint64
	frames []pickedFrame
	size   int64

	mu   sync.Mutex // guards what follows
	buf  []byte     // the frame that was read last, as it is in the new file
	last int        // which one that is; -1 for none
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
	p := &Picked{from: from, number: number, as: as, last: -1}
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
		c := wire.Reader{Rest: head[folder.FrameHeader:min(got, folder.FrameHeader+n)]}
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
	p.mu.Lock()
	defer p.mu.Unlock()
	for ; n < len(b) && i >= 0 && i < len(p.frames); i++ {
		if err := p.frame(i); err != nil {
			return n, err
		}
		if from := off + int64(n) - p.frames[i].off; from < int64(len(p.buf)) {
			n += copy(b[n:], p.buf[from:])
		}
	}
	if off+int64(n) == p.size { // nobody is likely to read on
		p.buf, p.last = nil, -1
	}
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// frame reads a frame and makes it one of the new file, unless it is there. The caller holds mu.
func (p *Picked) frame(i int) error {
	if i == p.last {
		return nil
	}
	f := &p.frames[i]
	p.last = -1
	p.buf = slices.Grow(p.buf[:0], f.n)[:f.n]
	if _, err := p.from.ReadAt(p.buf, f.at); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	fr, err := folder.ParseFrame(p.buf, folder.PartFrame)
	if err == nil && (fr.A != p.number || fr.B != uint64(f.at)) {
		err = fmt.Errorf("%w: frame of another place", bloomery.ErrCorrupt)
	}
	if err != nil {
		return &folder.Damage{File: folder.PartName(p.number), Err: fmt.Errorf("offset %d: %w", f.at, err)}
	}
	folder.SealFrame(p.buf, folder.PartFrame, p.as, uint64(f.off))
	p.last = i
	return nil
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
