package contents

// A version of a source that is on its way.

import (
	"fmt"
	"io"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/server/internal/wire"
)

// incoming is a version of which not all pieces have come. With each of them that part of the arrays is made
// which it is about: what the version is, and what the filter will be, the union with it. So the last has no
// more to do than the others. Whatever is added to the filter meanwhile is added to what it will be as well.
type incoming struct {
	version uint64
	at      int64
	of      uint64 // its length

	head   []byte // the header, as far as it has come
	filled int    // bytes of the array that have come
	sums   envelope.Tally
	table  []byte // of checksums, as far as it has come

	// These have all of their memory when the header has come, and filled bytes of what they will have.
	filter *Filter // the version
	union  *Filter // what the filter will be
	added  *Filter // what it has without sources, nil if that is kept already
}

// got returns how many bytes have come.
func (v *incoming) got() uint64 { return uint64(len(v.head) + v.filled + len(v.table)) }

func (v *incoming) bytes() uint64 {
	if v == nil {
		return 0
	}
	return v.filter.asideBytes() + v.union.asideBytes() + v.added.asideBytes() + uint64(len(v.head)+len(v.table))
}

func (v *incoming) release() {
	if v == nil {
		return
	}
	for _, f := range []*Filter{v.filter, v.union, v.added} {
		if f != nil {
			f.Release()
		}
	}
	v.filter, v.union, v.added = nil, nil, nil
}

// coming returns what takes the place of the filter, and of what it has without sources, when the
// version that is on its way is whole.
func (a *aside) coming() (list []*Filter) {
	if a == nil {
		return nil
	}
	for _, v := range a.sources {
		if v.next == nil || v.next.filter == nil {
			continue
		}
		list = append(list, v.next.union)
		if v.next.added != nil {
			list = append(list, v.next.added)
		}
	}
	return list
}

// RoomFor returns how many bytes at most are needed to load a part from its encoding: that, what becomes of it, and
// the arrays of a version that is on its way.
func RoomFor(data []byte) uint64 {
	filter, kept := cutAside(data)
	n, d := 2*uint64(len(data)), wire.Reader{Rest: kept}
	d.Byte()
	d.Uvarint()
	sources := d.Uvarint()
	d.Bytes() // what was added
	for ; sources > 0 && !d.Bad; sources-- {
		d.Bytes() // its name
		d.Uvarint()
		d.Varint()
		d.Uvarint() // how many of its items are gone
		d.Bytes()   // its version
		d.Uvarint()
		d.Varint()
		if of := d.Uvarint(); of > 0 {
			return n + 3*uint64(len(filter))
		}
		d.Bytes()
	}
	return n
}

// front is the copy of the front of an array, which stays as it is.
type front struct{ plain }

func (front) Saved() int      { return 0 }
func (front) Before([]uint64) {}
func (front) Detach()         {}

// receive takes the next bytes of the next version of a source. The last of them have it take the place of the
// version before. If it fails the caller drops the version.
func (s *Supply) receive(c *Filter, of *summary, data []byte) error {
	v := of.next
	if missing := envelope.HeaderSize - len(v.head); missing > 0 {
		n := min(len(data), missing)
		v.head, data = append(v.head, data[:n]...), data[n:]
		switch {
		case v.of < envelope.HeaderSize:
			return corrupt("source of a filter")
		case n < missing:
			return nil
		}
		if err := s.expect(c, v); err != nil {
			return err
		}
	}
	n := copy(v.filter.array()[v.filled:], data)
	v.sums.Add(data[:n])
	c.unite(of, v.filled, v.filled+n)
	v.filled += n
	v.table = append(v.table, data[n:]...)
	if v.got() < v.of {
		return nil
	}
	header, err := envelope.ParseHeader(v.head)
	if err == nil {
		err = v.sums.Check(header, v.table)
	}
	if err != nil {
		return fmt.Errorf("store: source: %w", err)
	}
	c.take(of)
	return nil
}

// expect makes room for a version whose header has come, if that is of a filter like c.
func (s *Supply) expect(c *Filter, v *incoming) (err error) {
	if err := s.remember(c); err != nil {
		return err
	}
	if v.filter, err = s.blank(c, v.head); err != nil {
		return err
	}
	if header, _ := envelope.ParseHeader(v.head); header.EncodedSize() != v.of {
		return fmt.Errorf("store: source: %w: %d bytes, the header says %d", bloomery.ErrCorrupt, v.of, header.EncodedSize())
	}
	own := headerOf(c.f.(io.WriterTo)) // all kinds that have sources are
	if v.union, err = s.blank(c, own); err != nil || c.sourced() {
		return err
	}
	v.added, err = s.blank(c, own)
	return err
}

// unite makes part of the array that the filter will have: the union of its sources, of the next version of one of
// them, and of what was added to it.
func (c *Filter) unite(of *summary, from, to int) {
	v, part := of.next, func(f *Filter) []byte { return f.array()[from:to] }
	if v.added != nil {
		copy(part(v.added), part(c))
		copy(part(v.union), part(c))
	} else {
		copy(part(v.union), part(c.aside.added))
	}
	orBytes(part(v.union), part(v.filter))
	for _, other := range c.aside.sources {
		if other != of && other.filter != nil {
			orBytes(part(v.union), part(other.filter))
		}
	}
}

// take puts the next version of a source, which is whole, in the place of the one before.
func (c *Filter) take(of *summary) {
	v := of.next
	of.next = nil
	if of.filter != nil {
		of.filter.Release()
	}
	of.filter, of.version, of.at = v.filter, v.version, v.at
	if v.added != nil {
		c.aside.added = v.added
	}
	c.own.release()
	c.f, c.own = v.union.f, v.union.own
	of.gone = 0 // they are in no later version
	c.news.estimate(c.f, littleBytes)
}
