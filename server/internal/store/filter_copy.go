package store

// Copies of parts for snapshots.

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/quotient"
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

// ErrFrozen means that somebody is copying the contents already: that is over soon.
var ErrFrozen = redisbloom.ErrFrozen

// Freeze begins a copy of the contents of p that later records do not disturb. The
// caller holds its lock. The error may be ErrFrozen.
func (p *Part) Freeze() (Frozen, error) {
	switch c := p.contents.(type) {
	case *filter:
		return c.freeze(p.made)
	case *loading:
		return c.freeze(p.made)
	case *draft:
		return c.freeze(p.made)
	}
	return p.contents.Freeze()
}

// Freeze implements Contents.
func (c *filter) Freeze() (Frozen, error) { return c.freeze(0) }

// freeze copies the encoding: a part of most kinds is small enough for that under its lock. One that
// grows may not be, and is forked; one of bits is read in pieces.
func (c *filter) freeze(made uint32) (Frozen, error) {
	head := c.appendForm(nil, made)
	if g, ok := c.f.(*quotient.Growing); ok {
		return newFrozenFork(head, g.Fork(), c.aside.encode(nil)), nil
	}
	if z := c.freezeBits(head, true); z != nil {
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

// appendForm appends what stands before the encoding.
func (c *filter) appendForm(b []byte, made uint32) []byte {
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
	state *State
	buf   []byte
	got   int
	made  uint32
}

func (s *State) loadFilter(first []byte, size int64) (Loader, error) {
	if size < 0 || size > maxEncoding {
		return nil, fmt.Errorf("store: load: %w: %d bytes", bloomery.ErrCorrupt, size)
	}
	buf, err := s.memory.Alloc(int(size))
	if err != nil {
		return nil, err
	}
	l := &filterLoader{state: s, buf: buf}
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
	p, rest, err := parsePlan(l.buf)
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
		c, err = l.state.openContents(p, d.Rest)
	case formLoading:
		c, err = l.state.reload(p, nil, &d)
	case formAwaited:
		var as *shared
		if as, err = l.state.readHash(p, &d); err == nil {
			c, err = l.state.reload(p, as, &d)
		}
	case formMarked:
		mark := d.Uvarint()
		if d.Bad || mark == 0 {
			return nil, corrupt("mark of a filter")
		}
		var f *filter
		if f, err = l.state.openContents(p, d.Rest); err == nil {
			f.mark(mark)
			c = f
		}
	case formDraft:
		c, err = l.state.redraft(p, 0, &d)
	case formSealed:
		c, err = l.state.redraft(p, d.Uvarint(), &d)
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
func (s *State) reload(p Plan, as *shared, d *wire.Reader) (Contents, error) {
	size := d.Uvarint()
	if d.Bad || size > maxEncoding || uint64(len(d.Rest)) > size {
		return nil, corrupt("copy of a filter that is being loaded")
	}
	l := &loading{plan: p, as: as, memory: s.memory}
	if size > 0 {
		var err error
		if l.buf, err = s.memory.Alloc(int(size)); err != nil {
			return nil, err
		}
		l.got = int64(copy(l.buf, d.Rest))
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
		l.state.memory.Free(l.buf)
		l.buf = nil
	}
}

// openContents returns the contents that data encodes, with what they keep aside.
func (s *State) openContents(p Plan, data []byte) (*filter, error) {
	data, kept := cutAside(data)
	header, err := codec.Peek(data)
	if err != nil {
		return nil, err
	}
	plan, err := s.share(p, header.Kind, header.Hash, header.Check)
	if err != nil {
		return nil, err
	}
	c, err := s.newContents(plan, func(c codec.Config) (bloomery.Hashed, error) { return c.Open(data) })
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
	plan   Plan
	as     *shared // what the filter has to be, nil if nobody has said that
	memory *memory.Arena
	buf    []byte // of the whole encoding; nil before the first piece
	got    int64  // bytes, in order
}

var _ Contents = (*loading)(nil)

func loadBytes(header []byte) (uint64, error) {
	p, _, err := parsePlan(header)
	return p.beside() << p.Parts, err
}

// newLoading makes parts to be loaded.
func newLoading(s *State, header []byte, l lying) ([]Contents, error) {
	p, as, err := s.describedLoad(header)
	if err != nil {
		return nil, err
	}
	parts := make([]Contents, 1<<p.Parts)
	for i := range parts {
		if as != nil && !l.here(i, &p) {
			parts[i] = newElsewhere(catalog.Filter, as)
			continue
		}
		parts[i] = &loading{plan: p, as: as, memory: s.memory}
	}
	return parts, nil
}

// fits returns an error unless the filter is what was said of it.
func (l *loading) fits(c *filter) error {
	if v := c.plan.Load(); l.as != nil && (v.kind != l.as.kind || v.hasher.Kind() != l.as.hasher.Kind() || v.hasher.Check() != l.as.hasher.Check()) {
		return fmt.Errorf("store: load: %w: the part is of kind %s, or hashes, as nobody has said", bloomery.ErrIncompatible, v.kind.Name)
	}
	return nil
}

// FilterPiece stores bytes of an encoding, in order, and makes the filter when the last
// have come.
type FilterPiece struct {
	Offset int64
	Of     uint64 // the length of the encoding
	Data   []byte
}

func (*FilterPiece) op() Op { return OpFilterPiece }
func (o *FilterPiece) fields(c coder, r *Record) coder {
	return c.target(r).bytes(&o.Data).varint(&o.Offset).uvarint(&o.Of)
}

func (o *FilterPiece) change(s *State, p *Part, _ *Record, res *Result) int64 {
	l := p.contents.(*loading)
	size, n := int64(min(o.Of, maxEncoding)), int64(len(o.Data))
	if o.Offset != l.got || l.buf != nil && size != int64(len(l.buf)) || n > size-l.got || n == 0 {
		res.Err = fmt.Errorf("store: load: %w: %d bytes at %d of %d, %d have come", bloomery.ErrCorrupt, n, o.Offset, o.Of, l.got)
		return 0
	}
	if l.buf == nil {
		if l.buf, res.Err = s.memory.Alloc(int(size)); res.Err != nil {
			return 0
		}
		s.bytes.Add(size)
	}
	copy(l.buf[l.got:], o.Data)
	if l.got+n == size {
		c, err := s.openContents(l.plan, l.buf)
		if err == nil {
			if err = l.fits(c); err != nil {
				c.Release()
			}
		}
		if err != nil {
			res.Err = err
			return 0
		}
		s.bytes.Add(int64(c.Bytes()) - int64(l.Bytes()))
		l.Release()
		p.contents = c
	}
	l.got += n
	res.Changed, res.Done = true, len(o.Data)
	return 0
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
		b = appendHash(b, l.as.kind, l.as.hasher)
	}
	b = binary.AppendUvarint(b, uint64(len(l.buf)))
	return &frozenFilter{data: append(b, l.buf[:l.got]...)}, nil
}

func (l *loading) Release() {
	if l.buf != nil {
		l.memory.Free(l.buf)
		l.buf = nil
	}
}

// CheckEncodings returns an error unless parts can be among all parts of one filter here:
// of one kind and with one hash, which is not a function, and not of too many members.
func CheckEncodings(parts [][]byte, all int) error {
	var first struct {
		kind  uint16
		hash  hashing.Kind
		check uint64
	}
	for i, data := range parts {
		header, err := codec.Peek(data)
		if err != nil {
			return err
		}
		k, hash := header.Kind, header.Hash
		this := first
		this.kind, this.hash, this.check = k.Number, hash, header.Check
		switch {
		case rows[k.Number] == nil:
			return fmt.Errorf("store: load: %w: kind %s is not served", bloomery.ErrIncompatible, k.Name)
		case hash == hashing.Custom:
			return fmt.Errorf("store: load: %w: it was made with a hash function of a program", bloomery.ErrIncompatible)
		case hash != hashing.XXH3 && salted(k, data):
			return fmt.Errorf("store: load: %w: kind %s with a secret key for its members", bloomery.ErrIncompatible, k.Name)
		case i > 0 && this != first:
			return fmt.Errorf("store: load: %w: part %d differs from part 0", bloomery.ErrIncompatible, i)
		case k.Number == envelope.KindQuorum && membersIn(data) > maxLoaded/all:
			return fmt.Errorf("store: load: %w: %d parts of %d members, and there may be %d at most", bloomery.ErrTooLarge, all, membersIn(data), maxLoaded)
		}
		first = this
	}
	return nil
}

// membersIn returns how many members the encoding of a quorum has, each layer of a member
// counted as one. Of a corrupt encoding it counts as far as that can be read.
func membersIn(data []byte) (n int) {
	const line = 64 // members begin at multiples of it
	h, _ := envelope.ParseHeader(data)
	table := data[envelope.HeaderSize:]
	at := (8*uint64(h.Extra) + line - 1) / line * line
	for i := range uint64(h.Extra) {
		if at > uint64(len(table)) || 8*i+8 > uint64(len(table)) {
			break
		}
		n++
		if member, err := envelope.ParseHeader(table[at:]); err == nil && member.Kind == envelope.KindScalable {
			n += int(member.Extra) - 1
		}
		size := binary.LittleEndian.Uint64(table[8*i:])
		if size > uint64(len(table)) {
			break
		}
		at += (size + line - 1) / line * line
	}
	return n
}

// HashOf returns how the filter of an encoding hashes, without its secret key if it has
// one. CheckEncodings asks that all parts do alike.
func HashOf(data []byte) (hashing.Hasher, error) {
	header, err := codec.Peek(data)
	if err != nil || header.Hash == hashing.XXH3 {
		return hashing.Seeded(header.Check), err
	}
	return hashing.Keyless(header.Check), nil
}

// salted reports whether a filter derives more secrets from that of its hash, so
// that it takes no hashes without the key.
func salted(k codec.Kind, data []byte) bool {
	const rotates = 1 << 8 // in the header of a window
	switch k.Name {
	case "quorum":
		return true
	case "window":
		i, err := codec.Inspect(bytes.NewReader(data))
		return err != nil || i.Extra&rotates != 0
	}
	return false
}

// loadedWhole reports whether all parts of a staged filter are there.
func loadedWhole(e *catalog.Entry) bool {
	for _, p := range Parts(e) {
		p.RLock()
		_, open := p.contents.(*loading)
		p.RUnlock()
		if open {
			return false
		}
	}
	return true
}

// versionOf returns the version of the last load of a filter, 0 for anything else.
func versionOf(e *catalog.Entry) uint64 {
	if p := PartOf(e); p != nil {
		return p.asked().Version
	}
	return 0
}
