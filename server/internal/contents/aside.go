package contents

// What a filter keeps besides its items: how many of them are deleted, and its sources.

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/frozen"
	"github.com/bloomery/bloomery/server/internal/wire"
)

// aside is what a filter keeps besides its items. The nil pointer keeps nothing.
type aside struct {
	gone uint64 // items that callers have deleted elsewhere, and the filter still has, but for those of sources

	added   *Filter // what was added to a filter that has sources, nil for others
	sources []*summary
}

// besideAside is what that takes in memory.
const besideAside = 48

func (a *aside) bytes() (n uint64) {
	if a == nil {
		return 0
	}
	n = besideAside + a.added.asideBytes()
	for _, v := range a.sources {
		n += v.bytes()
	}
	return n
}

// asideBytes is what a filter takes that another one keeps aside, 0 for none: nobody follows it, so it keeps no changes.
func (c *Filter) asideBytes() uint64 {
	if c == nil {
		return 0
	}
	return c.own.bytes + c.plan.Load().beside()
}

func (a *aside) release() {
	if a == nil {
		return
	}
	if a.added != nil {
		a.added.Release()
	}
	for _, v := range a.sources {
		if v.filter != nil {
			v.filter.Release()
		}
		v.next.release()
	}
}

// What is kept aside stands behind the encoding of a filter: version, fields, their length, and a
// mark, by which it is known. A filter that has these bytes at its end by chance is one of 2^128.
const (
	asideVersion = 1
	asideMark    = "\xb1\x00m aside \x93\x1f\xe4\x07\xc2\x5a"
	asideEnd     = 8 + len(asideMark)
)

// encode appends what is kept, nothing if there is nothing.
func (a *aside) encode(b []byte) []byte {
	w := bytes.NewBuffer(b)
	for _, v := range a.pieces(func(_ *arrays, z frozen.Copy) frozen.Copy { return z }) {
		_, _ = v.WriteTo(w) // a Buffer has no errors
	}
	return w.Bytes()
}

// pieces returns what is kept as pieces to be written one after the other. keep gets the copies
// of arrays among them, and returns them.
func (a *aside) pieces(keep func(*arrays, frozen.Copy) frozen.Copy) []section {
	if a == nil {
		return nil
	}
	list := a.appendSources(nil, binary.AppendUvarint([]byte{asideVersion}, a.gone), keep)
	size := int64(0)
	for _, v := range list {
		size += v.Size()
	}
	return append(list, plain(append(binary.LittleEndian.AppendUint64(nil, uint64(size)), asideMark...)))
}

// cutAside returns the encoding of a filter and what stands behind it, nil if nothing does.
func cutAside(data []byte) (filter, kept []byte) {
	at := len(data) - asideEnd
	if at < 0 || string(data[at+8:]) != asideMark {
		return data, nil
	}
	n := binary.LittleEndian.Uint64(data[at:])
	if n > uint64(at) {
		return data, []byte{} // whatever it is, it is not to be read as a filter
	}
	return data[:at-int(n)], data[at-int(n) : at : at]
}

// readAside has c keep what cutAside has found. If it fails the caller releases c.
func (s *Supply) readAside(c *Filter, kept []byte) error {
	if kept == nil {
		return nil
	}
	d := wire.Reader{Rest: kept}
	if version := d.Byte(); !d.Bad && version != asideVersion {
		return fmt.Errorf("store: load: %w: a filter keeps something aside in version %d: a later release is needed", bloomery.ErrVersion, version)
	}
	c.aside = &aside{gone: d.Uvarint()}
	if err := s.readSources(c, &d); err != nil {
		return err
	}
	if d.Bad || len(d.Rest) > 0 {
		return corrupt("what a filter keeps aside")
	}
	return nil
}

// AppendAside appends what the part keeps aside to its encoding. It belongs to the lock of p.
func (p *Part) AppendAside(b []byte) []byte {
	if c, ok := p.contents.(*Filter); ok {
		return c.aside.encode(b)
	}
	return b
}

// GoneItems returns how many items of the part were reported as deleted, which may be more than it
// has. It reports false as Probe does.
func (p *Part) GoneItems(wait bool) (n uint64, ok bool) {
	ok = p.look(wait, func(c Contents) {
		if f, is := c.(*Filter); is && f.aside != nil {
			n = f.aside.goneItems()
		}
	})
	return n, ok
}

// goneItems returns how many items were reported as deleted.
func (a *aside) goneItems() (n uint64) {
	if a == nil {
		return 0
	}
	n = a.gone
	for _, v := range a.sources {
		n = plus(n, v.gone)
	}
	return n
}

// Gone counts the hashes that the filter has, of items that were deleted elsewhere, and returns by
// how many bytes that has grown. Bools says which were counted. One that a source has is counted
// there: it is gone no more when that loads its next version. There is no bound: how many items an
// array has is known here from a sample of it, which takes long and shows none of a few.
func (c *Filter) Gone(hashes []uint64, res *Outcome) (grown int64) {
	res.Size(len(hashes))
	c.f.ContainsHashes(res.Bools, hashes)
	for i, there := range res.Bools {
		if !there {
			continue
		}
		if c.aside == nil {
			c.aside, grown = &aside{}, besideAside
		}
		n := c.aside.counter(hashes[i])
		*n = plus(*n, 1)
		res.Changed = true
	}
	res.Done = len(hashes)
	return grown
}

// counter returns where an item is counted that is gone: with the first source that has it, or with
// what was added.
func (a *aside) counter(hash uint64) *uint64 {
	for _, v := range a.sources {
		if v.filter != nil && v.filter.f.ContainsHash(hash) {
			return &v.gone
		}
	}
	return &a.gone
}

// KeepsAside reports whether something that a filter keeps aside stands behind its encoding.
func KeepsAside(data []byte) bool {
	_, kept := cutAside(data)
	return kept != nil
}
