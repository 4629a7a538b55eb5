package contents

// Copies of filters that others change meanwhile.

import (
	"errors"
	"io"
	"slices"

	"github.com/bloomery/bloomery"
	bloomfilter "github.com/bloomery/bloomery/bloom"
	composed "github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/frozen"
	"github.com/bloomery/bloomery/quotient"
	"github.com/bloomery/bloomery/server/internal/order"
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

// section is what can be written, and how long that is.
type section interface {
	io.WriterTo
	Size() int64
}

// plain is bytes that are part of a copy.
type plain []byte

func (b plain) Size() int64 { return int64(len(b)) }

func (b plain) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(b)
	return int64(n), err
}

// hashList is hashes that are part of a copy.
type hashList [][]uint64

func (l hashList) Size() (n int64) {
	for _, hashes := range l {
		n += 8 * int64(len(hashes))
	}
	return n
}

func (l hashList) WriteTo(w io.Writer) (n int64, err error) {
	for i := 0; i < len(l) && err == nil; i++ {
		var m int
		m, err = w.Write(envelope.BytesOf(l[i]))
		n += int64(m)
	}
	return n, err
}

// newFrozenStream returns the copy that consists of a head and parts.
func newFrozenStream(head []byte, parts ...section) *frozenStream {
	z := &frozenStream{size: int64(len(head)), rest: head}
	for _, p := range parts {
		z.size += p.Size()
	}
	z.next, z.stop = order.Pull(func(yield func([]byte) bool) {
		for _, p := range parts {
			if _, err := p.WriteTo(yielder(yield)); err != nil { // that of yielder
				return
			}
		}
	})
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

// frozenApart is the copy of what stays as it is: hashes that are only appended to, or the fork of a growing
// filter, which copies what writers change by itself.
type frozenApart struct{ *frozenPieces }

func (frozenApart) apart() {}

// Next is that of what needs no lock: writers count what the copy takes.
func (z frozenApart) Next(dst []byte) (piece []byte, off int64) { return z.frozenStream.Next(dst) }

// Saved is none: no writer has to wait for the copy.
func (frozenApart) Saved() int { return 0 }

// forked is a filter that grows as it was when it was forked.
type forked struct {
	still
	fork *quotient.Growing
	from *quotient.Growing // nil if that is gone
	at   uint64            // what it had copied then
	size uint64            // bytes then
}

func fork(g *quotient.Growing) *forked {
	f := g.Fork()
	return &forked{still{f}, f, g, g.Copied(), g.Stats().Bytes}
}

// Saved is what the filter has copied since then, all of it at most.
func (z *forked) Saved() int {
	if z.from == nil {
		return int(z.size)
	}
	return int(min(z.from.Copied()-z.at, z.size))
}

// freezeFork returns the copy of a filter that grows behind a head, with what it keeps aside if that is asked for; nil if it is of
// another kind.
func (c *Filter) freezeFork(head []byte, aside bool) Frozen {
	if _, ok := c.f.(*quotient.Growing); !ok {
		return nil
	}
	z := &frozenPieces{}
	parts := []section{z.keep(c.own, copyOf(c.f))}
	if aside {
		parts = append(parts, plain(c.aside.encode(nil)))
	}
	z.frozenStream = newFrozenStream(head, parts...)
	return frozenApart{z}
}

// Fork returns the filter of a part that grows as it is now, nil if it is of another kind or gone. The caller holds the lock of
// p. It may read the fork without one until it calls done, which takes the lock.
func (p *Part) Fork() (g *quotient.Growing, done func()) {
	c, ok := p.contents.(*Filter)
	if !ok || p.Gone() {
		return nil, nil
	}
	if _, ok = c.f.(*quotient.Growing); !ok {
		return nil, nil
	}
	z := &frozenPieces{}
	return z.keep(c.own, copyOf(c.f)).(*forked).fork, func() {
		p.Lock()
		defer p.Unlock()
		z.end()
	}
}

// piecesFrom is from how many bytes of arrays on a filter is not copied at once.
const piecesFrom = 1 << 20

// frozenPieces is the copy of a large filter, which is read piece by piece while it changes.
type frozenPieces struct {
	*frozenStream
	of []*pieces
}

// pieces is the copy of a filter of certain arrays, which stay until it is closed.
type pieces struct {
	frozen.Copy
	of      *arrays
	counted int // bytes that it has put aside, as far as the arena knows
}

// count tells the arena how many bytes the copy has put aside.
func (v *pieces) count() {
	if n := v.Saved(); n != v.counted {
		v.of.memory.Keep(n - v.counted)
		v.counted = n
	}
}

// leave has the copy of a filter that goes count all that it has: the filter does not any more.
func (v *pieces) leave() {
	if f, ok := v.Copy.(*forked); ok {
		f.from = nil
		v.count()
	}
}

// freezePieces returns the copy of a large filter behind a head, with what it keeps aside if that is
// asked for; nil if the filter has to be copied at once.
func (c *Filter) freezePieces(head []byte, aside bool) *frozenPieces {
	if c.own == nil || c.own.bytes+c.aside.bytes() < piecesFrom {
		return nil
	}
	z := &frozenPieces{}
	f := copyOf(c.f)
	if f == nil {
		return nil
	}
	parts := []section{z.keep(c.own, f)}
	if aside {
		parts = append(parts, c.aside.pieces(z.keep)...)
	}
	z.frozenStream = newFrozenStream(head, parts...)
	return z
}

// keep has arrays stay until z ends, which f is a copy of, and returns f.
func (z *frozenPieces) keep(a *arrays, f frozen.Copy) frozen.Copy {
	v := &pieces{Copy: f, of: a}
	z.of = append(z.of, v)
	a.copies = append(a.copies, v)
	return f
}

// copyOf returns a filter as it is now, nil if it cannot be copied in pieces.
func copyOf(f bloomery.Hashed) frozen.Copy {
	switch f := f.(type) {
	case *composed.Quorum:
		return f.Freeze(copyOf)
	case *quotient.Growing:
		return fork(f)
	case interface{ Freeze() *frozen.Pages }:
		return f.Freeze()
	}
	if z := bloomfilter.Freeze(f); z != nil {
		return z
	}
	if w, ok := f.(io.WriterTo); ok && !changes(f) {
		return &still{w}
	}
	return nil
}

// changes reports whether a filter can be changed.
func changes(f bloomery.Hashed) bool {
	switch f.(type) {
	case bloomery.Adder, bloomery.Inserter, bloomery.Deleter:
		return true
	}
	return false
}

// still is the copy of a filter that nobody changes.
type still struct{ io.WriterTo }

func (z *still) Size() int64 {
	h, _ := envelope.ParseHeader(headerOf(z.WriterTo))
	return int64(h.EncodedSize())
}

// headerOf returns the header of an encoding.
func headerOf(f io.WriterTo) (header []byte) {
	_, _ = f.WriteTo(yielder(func(first []byte) bool {
		header = slices.Clone(first[:min(len(first), envelope.HeaderSize)])
		return false
	}))
	return header
}

func (*still) Saved() int      { return 0 }
func (*still) Before([]uint64) {}
func (*still) Detach()         {}

func (z *frozenPieces) Next(dst []byte) (piece []byte, off int64) {
	piece, off = z.frozenStream.Next(dst)
	for _, v := range z.of {
		v.count()
	}
	return piece, off
}

func (z *frozenPieces) Saved() (n int) {
	for _, v := range z.of {
		n += v.Saved()
	}
	return n
}

func (z *frozenPieces) Close() error {
	z.end()
	return z.frozenStream.Close()
}

// end lets go of what stays for the copy.
func (z *frozenPieces) end() {
	for _, v := range z.of {
		v.of.memory.Keep(-v.counted)
		v.of.closed(v)
	}
	z.of = nil
}

// closed drops a copy that has ended.
func (a *arrays) closed(v *pieces) {
	a.copies = slices.DeleteFunc(a.copies, func(o *pieces) bool { return o == v })
	if len(a.copies) == 0 && a.left > 0 {
		a.release()
	}
}

// before tells those who copy a filter that hashes are about to be added, inserted or deleted.
func (a *arrays) before(hashes []uint64) {
	if a == nil {
		return
	}
	for _, v := range a.copies {
		v.Before(hashes)
		v.count()
	}
}

// beforeWords tells those who copy a filter of one array that words of it, from one up to another, are about to be
// changed.
func (a *arrays) beforeWords(from, to int) {
	if a == nil {
		return
	}
	for _, v := range a.copies {
		v.Copy.(interface{ BeforeWords(from, to int) }).BeforeWords(from, to)
		v.count()
	}
}

// detach lets a filter be changed in another way than by hashes.
func (a *arrays) detach() {
	if a == nil {
		return
	}
	for _, v := range a.copies {
		v.Detach()
		v.count()
	}
}

// freezeLarge returns the copy of a filter that is read in pieces, nil if p is another one. The caller holds its lock.
func (p *Part) freezeLarge(aside bool) Frozen {
	c, ok := p.contents.(*Filter)
	if !ok || p.Gone() {
		return nil
	}
	if z := c.freezeFork(nil, aside); z != nil {
		return z
	}
	if z := c.freezePieces(nil, aside); z != nil {
		return z
	}
	return nil
}

// writePiece is how much of a large filter is copied at a time.
const writePiece = 256 << 10

// WriteLarge writes the encoding of a large filter as it is now, with what it keeps aside if
// that is asked for, in pieces between which others can change it. It reports false, and writes
// nothing, if the part is another one. The caller holds no lock.
func (p *Part) WriteLarge(w io.Writer, aside bool) (ok bool, err error) {
	p.Sweep()
	p.Lock()
	z := p.freezeLarge(aside)
	p.Unlock()
	if z == nil {
		return false, nil
	}
	_, apart := z.(Apart)
	buf := make([]byte, writePiece)
	for more := true; more && err == nil; {
		if !apart {
			p.RLock()
		}
		piece, _ := z.Next(buf)
		if !apart {
			p.RUnlock()
		}
		more = len(piece) > 0
		_, err = w.Write(piece)
	}
	p.Lock()
	defer p.Unlock()
	return true, errors.Join(err, z.Close())
}
