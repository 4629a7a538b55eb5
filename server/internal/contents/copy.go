package contents

// Copies of parts for snapshots.

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/wire"
)

// What follows the plan and the age in the copy of a part.
const (
	formWhole   = 0 // an encoding
	formLoading = 1 // the size of an encoding, and as much of it as has come
	formDraft   = 2 // a part of a shadow
	formAwaited = 3 // kind and hash of a filter, and what formLoading has
	formAside   = 4 // an encoding, and what the filter keeps aside
	formMarked  = 5 // the mark of a rebuild, and what formWhole or formAside have
	formSealed  = 6 // the seal of an attempt, and what formDraft has
)

// Freeze begins a copy of the contents of p that later records do not disturb. The
// caller holds its lock. The error may be ErrFrozen.
func (p *Part) Freeze() (Frozen, error) {
	if c, ok := p.contents.(interface {
		freeze(made uint32) (Frozen, error)
	}); ok {
		return c.freeze(p.made)
	}
	return p.contents.Freeze()
}

// Freeze implements Contents.
func (c *Filter) Freeze() (Frozen, error) { return c.freeze(0) }

func (c *Filter) freeze(made uint32) (Frozen, error) { return c.freezeBehind(c.appendForm(nil, made)) }

// freezeBehind copies the encoding behind a head, at once if it is small. A filter that grows is forked; others
// are read in pieces.
func (c *Filter) freezeBehind(head []byte) (Frozen, error) {
	if z := c.freezeFork(head, true); z != nil {
		return z, nil
	}
	if z := c.freezePieces(head, true); z != nil {
		return z, nil
	}
	z := &frozenFilter{}
	// What is not the array is little: the sum is an estimate from above for
	// most kinds, and append makes room for the others.
	size := int(c.Bytes()) + int(c.Bytes()>>16) + 64<<10
	var buf []byte
	if size >= memory.MapFrom {
		b, err := memory.Map(size)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrMemory, err)
		}
		z.mapped, buf = b, b[:0]
	}
	data, err := c.encode(append(buf, head...))
	if err != nil {
		_ = z.Close()
		return nil, err
	}
	z.data = data
	return z, nil
}

// appendForm appends the form: all that comes before the encoding.
func (c *Filter) appendForm(b []byte, made uint32) []byte {
	plan := c.plan.Load()
	b = appendAge(b, &plan.Plan, made)
	switch {
	case plan.mark != 0:
		return binary.AppendUvarint(append(b, formMarked), plan.mark)
	case c.aside != nil:
		return append(b, formAside)
	}
	return append(b, formWhole)
}

func appendAge(b []byte, p *Plan, made uint32) []byte {
	return binary.AppendUvarint(AppendPlan(b, p), uint64(made))
}

// frozenFilter is the copy of a filter.
type frozenFilter struct {
	data   []byte
	mapped []byte
	at     int
}

func (z *frozenFilter) Size() int64 { return int64(len(z.data)) }

func (z *frozenFilter) Next(dst []byte) (piece []byte, off int64) {
	n := copy(dst[:cap(dst)], z.data[z.at:])
	off = int64(z.at)
	z.at += n
	return dst[:n], off
}

func (*frozenFilter) Saved() int { return 0 }

func (z *frozenFilter) Close() error {
	z.data = nil
	if z.mapped == nil {
		return nil
	}
	b := z.mapped
	z.mapped = nil
	return memory.Unmap(b)
}

// filterLoader puts a filter together from pieces. All of them are kept until the
// last has come.
type filterLoader struct {
	supply *Supply
	buf    []byte
	got    int
	made   uint32
}

func (s *Supply) loadFilter(first []byte, size int64) (Loader, error) {
	if size < 0 || size > maxEncoding {
		return nil, fmt.Errorf("store: load: %w: %d bytes", bloomery.ErrCorrupt, size)
	}
	buf, err := s.arena.Alloc(int(size))
	if err != nil {
		return nil, err
	}
	l := &filterLoader{supply: s, buf: buf}
	return l, l.Put(first, 0)
}

func (l *filterLoader) Put(piece []byte, off int64) error {
	if off < 0 || off > int64(len(l.buf)) || len(piece) > len(l.buf)-int(off) {
		return fmt.Errorf("store: load: %w: %d bytes at %d of %d", bloomery.ErrCorrupt, len(piece), off, len(l.buf))
	}
	copy(l.buf[off:], piece)
	l.got += len(piece)
	return nil
}

func (l *filterLoader) Done() (Contents, error) {
	if l.got != len(l.buf) {
		return nil, fmt.Errorf("store: load: %w: %d bytes of %d", bloomery.ErrCorrupt, l.got, len(l.buf))
	}
	p, rest, err := CutPlan(l.buf)
	if err != nil {
		return nil, err
	}
	d := wire.Reader{Rest: rest}
	l.made = uint32(d.Uvarint())
	form := d.Byte()
	if d.Bad {
		return nil, corrupt("copy of a filter")
	}
	var c Contents
	switch form {
	case formWhole, formAside:
		c, err = l.supply.openContents(p, d.Rest)
	case formLoading:
		c, err = l.supply.reload(p, nil, &d)
	case formAwaited:
		var as *Shared
		if as, err = l.supply.readHash(p, &d); err == nil {
			c, err = l.supply.reload(p, as, &d)
		}
	case formMarked:
		mark := d.Uvarint()
		if d.Bad || mark == 0 {
			return nil, corrupt("mark of a filter")
		}
		var f *Filter
		if f, err = l.supply.openContents(p, d.Rest); err == nil {
			f.SetMark(mark)
			c = f
		}
	case formDraft:
		c, err = l.supply.redraft(p, 0, &d)
	case formSealed:
		c, err = l.supply.redraft(p, d.Uvarint(), &d)
	default:
		err = fmt.Errorf("store: load: %w: form %d: a later release is needed", bloomery.ErrVersion, form)
	}
	if err != nil {
		return nil, err
	}
	l.Release()
	return c, nil
}

// reload returns a part whose encoding was on its way.
func (s *Supply) reload(p Plan, as *Shared, d *wire.Reader) (Contents, error) {
	size := d.Uvarint()
	if d.Bad || size > maxEncoding || uint64(len(d.Rest)) > size {
		return nil, corrupt("copy of a filter that is being loaded")
	}
	l := &loading{plan: p, as: as}
	if size > 0 {
		if err := l.alloc(s, int(size)); err != nil {
			return nil, err
		}
		l.got = int64(copy(l.buf, d.Rest))
	}
	if size > 0 && l.got == int64(size) {
		return s.reopen(l)
	}
	return l, nil
}

// FinishLoad returns the part that a Loader has put together. Errors are those of
// its Done.
func FinishLoad(l Loader) (*Part, error) {
	c, err := l.Done()
	if err != nil {
		return nil, err
	}
	p := NewPart(c)
	if f, ok := l.(*filterLoader); ok {
		p.made = f.made
	}
	return p, nil
}

func (l *filterLoader) Release() {
	if l.buf != nil {
		l.supply.arena.Free(l.buf)
		l.buf = nil
	}
}

// openContents returns the contents that data encodes, with what they keep aside.
func (s *Supply) openContents(p Plan, data []byte) (*Filter, error) {
	data, kept := cutAside(data)
	header, err := codec.Peek(data)
	if err != nil {
		return nil, err
	}
	plan, err := s.share(p, header.Kind, header.Hash, header.Check)
	if err != nil {
		return nil, err
	}
	c, err := s.newContents(plan, s.arena, func(c codec.Config) (bloomery.Hashed, error) { return c.Open(data) })
	if err != nil {
		return nil, err
	}
	if err = s.readAside(c, kept); err != nil {
		c.Release()
		return nil, err
	}
	c.news.estimate(c.f, math.MaxUint64)
	return c, nil
}

// loading is the contents of a part whose encoding is on its way. Only staged
// filters have such parts.
type loading struct {
	plan Plan
	as   *Shared // what the filter has to be, nil if nobody has said that
	own  *arrays // has buf
	buf  []byte  // of the whole encoding; nil before the first piece
	got  int64   // bytes, in order

	opening *Opening // nil until all have come
}

var _ Contents = (*loading)(nil)

// IsLoading reports whether contents are a filter that is being loaded.
func IsLoading(c Contents) bool { return Is[*loading](c) }

// alloc makes room for the whole encoding.
func (l *loading) alloc(s *Supply, size int) (err error) {
	l.own = &arrays{memory: s.arena}
	l.buf, err = l.own.alloc(size)
	return err
}

func loadBytes(header []byte) (uint64, error) {
	p, _, err := CutPlan(header)
	return p.beside() << p.Parts, err
}

// newLoading makes parts to be loaded.
func newLoading(s *Supply, header []byte, here Here) ([]Contents, error) {
	p, as, err := s.describedLoad(header)
	if err != nil {
		return nil, err
	}
	parts := make([]Contents, 1<<p.Parts)
	for i := range parts {
		if as != nil && !here(i, &p) {
			parts[i] = newElsewhere(catalog.Filter, as)
			continue
		}
		parts[i] = &loading{plan: p, as: as}
	}
	return parts, nil
}

// fits returns an error unless the filter is what was said of it.
func (l *loading) fits(c *Filter) error {
	if v := c.plan.Load(); l.as != nil && (v.Kind != l.as.Kind || v.Hasher.Kind() != l.as.Hasher.Kind() || v.Hasher.Check() != l.as.Hasher.Check()) {
		return fmt.Errorf("store: load: %w: the part is of kind %s or has a hash that differs from what was announced", bloomery.ErrIncompatible, v.Kind.Name)
	}
	return nil
}

// Fill stores bytes of an encoding of so many in a part that is being loaded, in order, and returns by how many bytes that
// has grown. When the last have come it begins to make the filter.
func (s *Supply) Fill(p *Part, offset int64, of uint64, data []byte) (grown int64, o *Opening, err error) {
	l := p.contents.(*loading)
	before, size, n := l.Bytes(), int64(min(of, maxEncoding)), int64(len(data))
	if offset != l.got || l.buf != nil && size != int64(len(l.buf)) || n > size-l.got || n == 0 {
		return 0, nil, fmt.Errorf("store: load: %w: %d bytes at %d of %d, %d have come", bloomery.ErrCorrupt, n, offset, of, l.got)
	}
	if l.buf == nil {
		if err = l.alloc(s, int(size)); err != nil {
			return 0, nil, err
		}
	}
	copy(l.buf[l.got:], data)
	grown = int64(l.Bytes()) - int64(before)
	if l.got += n; l.got == size {
		o = s.open(p, l)
	}
	return grown, o, nil
}

func (*loading) Kind() catalog.Kind             { return catalog.Filter }
func (*loading) Stats() bloomery.Stats          { return bloomery.Stats{} }
func (l *loading) Bytes() uint64                { return uint64(len(l.buf)) + l.plan.beside() }
func (*loading) Growth(int) (uint64, bool)      { return 0, true }
func (l *loading) AppendHeader(b []byte) []byte { return AppendPlan(b, &l.plan) }
func (*loading) ScanDump(int64) (int64, []byte) { return 0, nil }

// Freeze implements Contents.
func (l *loading) Freeze() (Frozen, error) { return l.freeze(0) }

// freeze copies what has come: the log has the rest.
func (l *loading) freeze(made uint32) (Frozen, error) {
	b := append(appendAge(nil, &l.plan, made), formLoading)
	if l.as != nil {
		b[len(b)-1] = formAwaited
		b = appendHash(b, l.as.Kind, l.as.Hasher)
	}
	b = binary.AppendUvarint(b, uint64(len(l.buf)))
	z := &frozenPieces{}
	if l.own != nil {
		z.keep(l.own, &still{})
	}
	z.frozenStream = newFrozenStream(b, plain(l.buf[:l.got])) // nobody changes what has come
	return z, nil
}

func (l *loading) Release() {
	if l.own != nil {
		l.own.release()
		l.own, l.buf = nil, nil
	}
}
