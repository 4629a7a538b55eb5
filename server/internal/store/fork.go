package store

// Copies of growing filters, which others can change meanwhile.

import (
	"io"
	"iter"

	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/quotient"
)

// Apart is a Frozen that needs no lock: it shares nothing that changes.
type Apart interface {
	Frozen
	apart()
}

// frozenFork is the copy of a growing filter. Its pieces are made as they are asked for: they
// need no memory besides what writers copy meanwhile, which the filter copies by itself.
type frozenFork struct {
	size int64
	at   int64
	rest []byte // of what next has returned
	next func() ([]byte, bool)
	stop func()
}

// newFrozenFork returns the copy of a fork, behind a head.
func newFrozenFork(head []byte, g *quotient.Growing) *frozenFork {
	z := &frozenFork{}
	z.next, z.stop = iter.Pull(func(yield func([]byte) bool) {
		_, _ = g.WriteTo(yielder(yield)) // the only error is that of yielder
	})
	first, _ := z.next()
	h, _ := envelope.ParseHeader(first)
	z.rest = append(head, first...)
	z.size = int64(len(z.rest)) + int64(h.Payload) + int64(h.TableSize())
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

func (*frozenFork) apart() {}

func (z *frozenFork) Size() int64 { return z.size }

func (z *frozenFork) Next(dst []byte) (piece []byte, off int64) {
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

func (*frozenFork) Saved() int { return 0 }

func (z *frozenFork) Close() error {
	z.stop()
	z.rest = nil
	return nil
}
