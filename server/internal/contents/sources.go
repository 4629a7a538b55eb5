package contents

// Sources of a filter: summaries of others' data, of which it is the union.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bloomery/bloomery"
	bloomfilter "github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/internal/frozen"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/server/internal/wire"
	"github.com/bloomery/bloomery/sizing"
)

const (
	// MaxSources is how many sources a filter may have.
	MaxSources = 256
	// MaxSourceName is how many bytes the name of a source may have.
	MaxSourceName = 128
	// maxSourceBytes is what all sources of a part may take: all of them are read when one is replaced.
	maxSourceBytes = 256 << 20
	// besideSource is what a source takes besides its bits.
	besideSource = 160
)

var (
	// ErrSourced means that a filter has sources, and its bits are theirs.
	ErrSourced = errors.New("store: the filter is the union of its sources: load those instead, of another size under a new key")
	// ErrOtherLoad means that what came of a load before was dropped for another one.
	ErrOtherLoad = errors.New("store: another load of this source, or of another one, has begun: send it again")
)

// summary is what a source has sent, and the next version of it that is on its way. One source of a part
// at most has such a version.
type summary struct {
	name    string
	version uint64 // 0 before the first one is whole
	at      int64  // when it came, in milliseconds since 1970
	gone    uint64 // see aside
	filter  *Filter
	next    *incoming
}

// Source is a source of a part, as others see it.
type Source struct {
	Name    string
	Version uint64
	At      int64 // when it came, in milliseconds since 1970
}

// Sources returns the sources of a part that are whole, by name. It waits for the lock.
func (p *Part) Sources() (list []Source) {
	p.RLock()
	defer p.RUnlock()
	c, ok := p.contents.(*Filter)
	if !ok || c.aside == nil {
		return nil
	}
	return c.aside.known()
}

// known returns the sources that are whole, by name.
func (a *aside) known() (list []Source) {
	for _, v := range a.sources {
		if v.version > 0 {
			list = append(list, Source{v.name, v.version, v.at})
		}
	}
	return list
}

// sourced reports whether the filter has sources.
func (c *Filter) sourced() bool { return c.aside != nil && c.aside.added != nil }

// at returns the place of a source, and the source if there is one.
func (a *aside) at(name string) (i int, v *summary) {
	if a == nil {
		return 0, nil
	}
	i, found := slices.BinarySearchFunc(a.sources, name, func(v *summary, name string) int { return strings.Compare(v.name, name) })
	if found {
		v = a.sources[i]
	}
	return i, v
}

// source returns a source, which it makes if there is none.
func (a *aside) source(name []byte) *summary {
	i, v := a.at(string(name))
	if v == nil {
		v = &summary{name: string(name)}
		a.sources = slices.Insert(a.sources, i, v)
	}
	return v
}

// SourcePiece is bytes of the encoding of a version of a source.
type SourcePiece struct {
	Source  []byte
	Version uint64
	At      int64 // milliseconds since 1970
	Offset  int64
	Of      uint64 // the length of the encoding; 0 drops what has come of any
	Data    []byte
}

// TakeSource stores a piece of a version of a source, in order, and returns by how many bytes the filter
// has grown. The last of them have the version take the place of the one before, and the filter is the
// union of all sources then. A version that is not later than the one that is there, or than one that is
// on its way, changes nothing. If the last of them are refused nothing is left of the version.
func (s *Supply) TakeSource(c *Filter, o *SourcePiece, res *Outcome) (grown int64) {
	before := c.Bytes()
	switch _, v := c.aside.at(string(o.Source)); {
	case o.Of == 0:
		res.Changed = c.abandon()
	case v == nil || v.version < o.Version && (o.Offset > 0 || v.next == nil || v.next.version <= o.Version):
		s.putSource(c, o, res)
	}
	return int64(c.Bytes()) - int64(before)
}

// putSource stores a piece of a later version.
func (s *Supply) putSource(c *Filter, o *SourcePiece, res *Outcome) {
	if res.Err = c.takesSource(o); res.Err != nil {
		return
	}
	_, v := c.aside.at(string(o.Source))
	switch {
	case o.Offset == 0:
		c.abandon()
		if c.aside == nil {
			c.aside = &aside{}
		}
		v = c.aside.source(o.Source)
		v.next = &incoming{version: o.Version, at: o.At, of: o.Of}
	case v == nil || v.next == nil || v.next.version != o.Version || int64(v.next.got()) != o.Offset || v.next.of != o.Of:
		res.Err = ErrOtherLoad
		return
	}
	res.Changed = true
	if res.Err = s.receive(c, v, o.Data); res.Err != nil {
		c.abandon()
	}
}

// abandon drops what has come of a version that is not whole, and reports whether there was any.
func (c *Filter) abandon() (some bool) {
	a := c.aside
	if a == nil {
		return false
	}
	a.sources = slices.DeleteFunc(a.sources, func(v *summary) bool {
		if v.next != nil {
			some = true
			v.next.release()
			v.next = nil
		}
		return v.version == 0
	})
	if a.gone == 0 && a.added == nil && len(a.sources) == 0 {
		c.aside = nil
	}
	return some
}

// whole returns how many sources are whole, and what those take.
func (a *aside) whole() (sources int, bytes uint64) {
	if a == nil {
		return 0, 0
	}
	bytes = a.bytes()
	for _, v := range a.sources {
		if v.version > 0 {
			sources++
		}
		bytes -= v.next.bytes()
	}
	return sources, bytes
}

// takesSource returns why a filter cannot have a piece of a source.
func (c *Filter) takesSource(o *SourcePiece) error {
	shape, ok := shapeOf(c.f)
	_, v := c.aside.at(string(o.Source))
	sources, bytes := c.aside.whole() // a load that begins drops the others
	n, another := uint64(len(o.Data)), o.Offset == 0 && (v == nil || v.version == 0)
	switch {
	case !ok:
		return noSources(c.plan.Load().Kind.Name)
	case len(o.Source) == 0 || len(o.Source) > MaxSourceName || o.Version == 0:
		return corrupt("name or version of a source")
	case n == 0 || o.Offset < 0 || n > o.Of || uint64(o.Offset) > o.Of-n:
		return corrupt("piece of a source")
	case o.Of > longest(shape):
		return fmt.Errorf("store: source: %w: %d bytes for a filter of %d bits", bloomery.ErrIncompatible, o.Of, shape.Bits)
	case another && sources >= MaxSources:
		return fmt.Errorf("store: source: %w: a filter has %d sources at most", bloomery.ErrTooLarge, MaxSources)
	case another && bytes+2*o.Of > maxSourceBytes:
		return fmt.Errorf("store: source: %w: the sources of a part take %d bytes at most: make it of more parts", bloomery.ErrTooLarge, maxSourceBytes)
	}
	return nil
}

// CheckSourceKind returns an error unless filters of a kind can have sources.
func CheckSourceKind(kind string) error {
	if PlainBits(kind) {
		return nil
	}
	return noSources(kind)
}

func noSources(kind string) error {
	return fmt.Errorf("store: source: %w: a filter of kind %s has no sources: that is for %s", bloomery.ErrIncompatible, kind, strings.Join(plainBits, ", "))
}

// longest returns a length that no encoding of a filter of a shape has.
func longest(shape sizing.Shape) uint64 { return shape.Bits/8 + 4<<10 }

// shapeOf returns the shape of a filter that is an array of bits and nothing else. The union of two of
// one shape is the or of their arrays.
func shapeOf(f bloomery.Hashed) (shape sizing.Shape, ok bool) {
	switch f := f.(type) {
	case *bloomfilter.Filter:
		return f.Shape(), true
	case *bloomfilter.Standard:
		return f.Shape(), true
	case *bloomfilter.Partitioned:
		return f.Shape(), true
	case *bloomfilter.Split:
		return f.Shape(), true
	}
	return shape, false
}

// openSource returns a filter that data encodes, if it is one like c.
func (s *Supply) openSource(c *Filter, data []byte) (*Filter, error) {
	return s.like(c, data, s.arena, func(config codec.Config) (bloomery.Hashed, error) { return config.Open(data) })
}

// blank returns an empty filter with a header, if it is one like c.
func (s *Supply) blank(c *Filter, header []byte) (*Filter, error) {
	return s.like(c, header, s.arena.Sparse(), func(config codec.Config) (bloomery.Hashed, error) {
		o, err := codec.ParseOutline(append(slices.Clip(header), 0)) // no words besides the header
		if err != nil {
			return nil, err
		}
		return config.Make(&o)
	})
}

// like returns a filter that open makes in memory of m, which has a header, if it is one like c.
func (s *Supply) like(c *Filter, header []byte, m *memory.Arena, open func(codec.Config) (bloomery.Hashed, error)) (*Filter, error) {
	plan := c.plan.Load()
	h, err := codec.Peek(header)
	if err != nil {
		return nil, err
	}
	if h.Kind.Number != plan.Kind.Number || h.Hash != plan.Hasher.Kind() || h.Check != plan.Hasher.Check() {
		return nil, fmt.Errorf("store: source: %w: it is of kind %s with another hash or seed, or of another kind than the filter", bloomery.ErrIncompatible, h.Kind.Name)
	}
	f, err := s.keptContents(plan, m, open)
	if err != nil {
		return nil, err
	}
	mine, _ := shapeOf(c.f)
	if its, _ := shapeOf(f.f); its != mine || f.array() == nil {
		f.Release()
		return nil, fmt.Errorf("store: source: %w: it has %d bits with %d hashes, the filter %d with %d", bloomery.ErrIncompatible, its.Bits, its.K, mine.Bits, mine.K)
	}
	return f, nil
}

// reunite makes the filter the union of its sources and of what was added to it.
func (c *Filter) reunite() {
	all := c.array()
	copy(all, c.aside.added.array())
	for _, v := range c.aside.sources {
		if v.filter != nil {
			orBytes(all, v.filter.array())
		}
	}
}

// remember has a small filter remember its array, which others need not.
func (s *Supply) remember(c *Filter) error {
	if c.array() != nil {
		return nil
	}
	data, err := encoded(c.f)
	if err != nil {
		return err
	}
	again, err := s.openSource(c, data)
	if err == nil {
		c.f, c.own = again.f, again.own
	}
	return err
}

// addBeside adds hashes, which were added to the filter, to what is kept apart from its sources and to what will
// take its place, and reports whether the former had lacked any.
func (c *Filter) addBeside(hashes []uint64) (some bool) {
	coming := c.aside.coming()
	if !c.sourced() && len(coming) == 0 {
		return false
	}
	news := make([]bool, len(hashes))
	if c.sourced() {
		c.aside.added.own.before(hashes)
		c.aside.added.f.(bloomery.Adder).AddHashes(news, hashes)
		some = slices.Contains(news, true)
	}
	for _, f := range coming {
		f.f.(bloomery.Adder).AddHashes(news, hashes)
	}
	return some
}

func (v *summary) bytes() uint64 {
	return besideSource + uint64(len(v.name)) + v.filter.asideBytes() + v.next.bytes()
}

// appendSources appends to list what no source has, and the sources; b comes before them.
func (a *aside) appendSources(list []section, b []byte, keep func(*arrays, frozen.Copy) frozen.Copy) []section {
	b = binary.AppendUvarint(b, uint64(len(a.sources)))
	put := func(c *Filter) {
		if c == nil {
			b = append(b, 0)
			return
		}
		z := keep(c.own, copyOf(c.f))
		list = append(list, plain(binary.AppendUvarint(b, uint64(z.Size()))), z)
		b = nil
	}
	if len(a.sources) > 0 {
		put(a.added)
	}
	for _, v := range a.sources {
		b = wire.AppendBytes(b, v.name)
		b = binary.AppendUvarint(binary.AppendVarint(binary.AppendUvarint(b, v.version), v.at), v.gone)
		put(v.filter)
		next := v.next
		if next == nil {
			next = &incoming{}
		}
		b = binary.AppendVarint(binary.AppendUvarint(b, next.version), next.at)
		b = binary.AppendUvarint(binary.AppendUvarint(b, next.of), next.got())
		list = append(list, plain(append(b, next.head...)))
		if next.filled > 0 {
			list = append(list, keep(next.filter.own, front{plain(next.filter.array()[:next.filled])}))
		}
		list = append(list, plain(slices.Clip(next.table)))
		b = nil
	}
	return append(list, plain(b))
}

// readSources reads what appendSources has appended into the aside of c. Pieces of a version that cannot become a
// source are dropped. If it fails the caller releases c.
func (s *Supply) readSources(c *Filter, d *wire.Reader) error {
	n := d.Uvarint()
	if n == 0 {
		return nil
	}
	if n > MaxSources {
		return corrupt("sources of a filter")
	}
	a := c.aside
	read := func() (f *Filter, err error) {
		if data := d.Bytes(); len(data) > 0 {
			f, err = s.openSource(c, data)
		}
		return f, err
	}
	var err error
	if a.added, err = read(); err != nil {
		return err
	}
	whole, pending := false, 0
	var of *summary // whose next version has come in part
	var pieces []byte
	for ; n > 0; n-- {
		v := &summary{name: string(d.Bytes()), version: d.Uvarint(), at: d.Varint(), gone: d.Uvarint()}
		i, twice := a.at(v.name)
		if d.Bad || v.name == "" || len(v.name) > MaxSourceName || twice != nil || i < len(a.sources) {
			return corrupt("sources of a filter")
		}
		a.sources = append(a.sources, v)
		if v.filter, err = read(); err != nil {
			return err
		}
		next := incoming{version: d.Uvarint(), at: d.Varint(), of: d.Uvarint()}
		got := d.Bytes()
		whole = whole || v.filter != nil
		if d.Bad || (v.filter == nil) != (v.version == 0) || (next.of == 0) != (next.version == 0) || uint64(len(got)) > next.of {
			return corrupt("sources of a filter")
		}
		if next.of > 0 {
			v.next, of, pieces = &next, v, got
			pending++
		}
	}
	switch {
	case whole != (a.added != nil):
		return corrupt("sources of a filter")
	case whole:
		if err := s.remember(c); err != nil {
			return err
		}
		c.reunite()
	}
	if shape, ok := shapeOf(c.f); pending != 1 || !ok || of.next.of > longest(shape) {
		c.abandon()
		return nil
	}
	if err := s.receive(c, of, pieces); err != nil {
		c.abandon()
		if errors.Is(err, ErrMemory) {
			return err
		}
	}
	return nil
}
