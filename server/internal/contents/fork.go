package contents

// Copies of filters that others change meanwhile.

import (
	"errors"
	"io"
	"iter"
	"slices"

	"github.com/bloomery/bloomery"
	bloomfilter "github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/quotient"
)

// Apart is a Frozen that needs no lock: it shares nothing that changes.
type Apart interface {
	Frozen
	apart()
}

// frozenStream is a copy whose pieces are made as they are asked for: it needs no memory besides
// what writers put aside meanwhile.
type frozenStream struct {
	size int64
	at   int64
	rest []byte // of what next has returned
	next func() ([]byte, bool)
	stop func()
}

// newFrozenStream returns the copy of what a filter writes, which begins with the header of an
// encoding, between a head and a tail.
func newFrozenStream(head []byte, f io.WriterTo, tail []byte) *frozenStream {
	z := &frozenStream{}
	z.next, z.stop = iter.Pull(func(yield func([]byte) bool) {
		if _, err := f.WriteTo(yielder(yield)); err == nil && len(tail) > 0 { // the only error is that of yielder
			yield(tail)
		}
	})
	first, _ := z.next()
	h, _ := envelope.ParseHeader(first)
	z.rest = append(head, first...)
	z.size = int64(len(head)) + int64(h.EncodedSize()) + int64(len(tail))
	return z
}

// yielder is a Writer whose pieces a loop takes.
type yielder func([]byte) bool

func (y yielder) Write(b []byte) (int, error) {
	if !y(b) {
		return 0, io.ErrClosedPipe
	}
	return len(b), nil
}

func (z *frozenStream) Size() int64 { return z.size }

func (z *frozenStream) Next(dst []byte) (piece []byte, off int64) {
	piece, off = dst[:0], z.at
	for len(piece) < cap(dst) {
		if len(z.rest) == 0 {
			var ok bool
			if z.rest, ok = z.next(); !ok {
				break
			}
		}
		n := min(len(z.rest), cap(dst)-len(piece))
		piece = append(piece, z.rest[:n]...)
		z.rest = z.rest[n:]
	}
	z.at += int64(len(piece))
	return piece, off
}

func (*frozenStream) Saved() int { return 0 }

func (z *frozenStream) Close() error {
	z.stop()
	z.rest = nil
	return nil
}

// frozenFork is the copy of a growing filter, which copies what writers change by itself.
type frozenFork struct{ *frozenStream }

// newFrozenFork returns the copy of a fork.
func newFrozenFork(head []byte, g *quotient.Growing, tail []byte) frozenFork {
	return frozenFork{newFrozenStream(head, g, tail)}
}

func (frozenFork) apart() {}

// Fork returns the filter of a part that grows as it is now, nil if it is of another kind or gone.
// The caller may read it without a lock for as long as it likes.
func (p *Part) Fork() *quotient.Growing {
	if row := p.Row(); row == nil || row.Name != "growing" {
		return nil
	}
	p.Lock()
	defer p.Unlock()
	if g, ok := p.Filter().(*quotient.Growing); ok && !p.Gone() {
		return g.Fork()
	}
	return nil
}

// piecesFrom is from how many bytes of arrays on a filter is not copied at once.
const piecesFrom = 1 << 20

// frozenBits is the copy of a filter whose keys only set bits, or which does not change at all.
type frozenBits struct {
	*frozenStream
	of   *arrays
	bits *bloomfilter.Frozen // nil for a filter that does not change
}

// freezeBits returns the copy of a large filter behind a head, with what it keeps aside if that is asked
// for; nil if the filter has to be copied at once.
func (c *Filter) freezeBits(head []byte, aside bool) *frozenBits {
	if c.own == nil || c.own.bytes < piecesFrom || c.sourced() {
		return nil
	}
	z := &frozenBits{of: c.own, bits: bloomfilter.Freeze(c.f)}
	var from io.WriterTo = z.bits
	if z.bits == nil {
		var ok bool
		if from, ok = c.f.(io.WriterTo); !ok || changes(c.f) {
			return nil
		}
	}
	var tail []byte
	if aside {
		tail = c.aside.encode(nil)
	}
	z.frozenStream = newFrozenStream(head, from, tail)
	c.own.copies = append(c.own.copies, z)
	return z
}

// changes reports whether a filter can be changed.
func changes(f bloomery.Hashed) bool {
	switch f.(type) {
	case bloomery.Adder, bloomery.Inserter, bloomery.Deleter:
		return true
	}
	return false
}

func (z *frozenBits) Saved() int {
	if z.bits == nil {
		return 0
	}
	return z.bits.Saved()
}

func (z *frozenBits) Close() error {
	if i := slices.Index(z.of.copies, z); i >= 0 {
		z.of.copies = slices.Delete(z.of.copies, i, i+1)
	}
	if len(z.of.copies) == 0 && z.of.left {
		z.of.release()
	}
	return z.frozenStream.Close()
}

// before tells those who copy a filter that hashes are about to be added.
func (a *arrays) before(hashes []uint64) {
	if a == nil {
		return
	}
	for _, z := range a.copies { // it changes, so they have bits
		z.bits.Before(hashes)
	}
}

// detach lets a filter be changed in another way than by hashes that are added.
func (a *arrays) detach() {
	if a == nil {
		return
	}
	for _, z := range a.copies {
		if z.bits != nil {
			z.bits.Detach()
		}
	}
}

// writePiece is how much of a large filter is copied at a time.
const writePiece = 256 << 10

// WriteLarge writes the encoding of a large filter of bits as it is now, with what it keeps aside if
// that is asked for, in pieces between which others can change it. It reports false, and writes
// nothing, if the part is another one. The caller holds no lock.
func (p *Part) WriteLarge(w io.Writer, aside bool) (ok bool, err error) {
	p.Lock()
	var z *frozenBits
	if c, is := p.contents.(*Filter); is && !p.Gone() {
		z = c.freezeBits(nil, aside)
	}
	p.Unlock()
	if z == nil {
		return false, nil
	}
	buf := make([]byte, writePiece)
	for more := true; more && err == nil; {
		p.RLock()
		piece, _ := z.Next(buf)
		p.RUnlock()
		more = len(piece) > 0
		_, err = w.Write(piece)
	}
	p.Lock()
	defer p.Unlock()
	return true, errors.Join(err, z.Close())
}
