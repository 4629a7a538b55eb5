package store

// The bytes of a record.

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/wire"
)

// recordVersion is the first byte of every record.
const recordVersion = 1

// AppendRecord appends the encoding of r to b: version, operation, origin, and what
// its body writes. Numbers are varints, digests 8 or 16 bytes little-endian, byte
// strings and lists have their length in front.
func AppendRecord(b []byte, r *Record) []byte {
	b = append(b, recordVersion, byte(r.Body.op()))
	b = appendUvarint(appendUvarint(b, r.Origin.Session), r.Origin.Counter)
	if f, ok := r.Body.(frequent); ok {
		return f.append(b, r)
	}
	return r.Body.fields(coder{b: b, does: writes}, r).b
}

// frequent is the body of a record of which there are very many: append writes all of its fields,
// in fewer steps.
type frequent interface {
	append(b []byte, r *Record) []byte
}

// Decode reads the record at the start of b into r and returns its length. Byte
// strings of the record are slices of b. The memory of r is used again if it has a body
// of the same operation: a replay decodes millions of records into one. The error wraps
// bloomery.ErrCorrupt or bloomery.ErrVersion.
func (r *Record) Decode(b []byte) (int, error) {
	if len(b) < 2 {
		return 0, corrupt("record cut short")
	}
	if b[0] != recordVersion {
		return 0, fmt.Errorf("store: decode: %w: record of version %d, this release reads %d: a later one is needed", bloomery.ErrVersion, b[0], recordVersion)
	}
	op := Op(b[1])
	if operations[op].body == nil {
		return 0, fmt.Errorf("store: decode: %w: operation %d, which this release does not have: a later one is needed", bloomery.ErrVersion, op)
	}
	body := r.Body
	if body == nil || body.op() != op {
		body = operations[op].body()
	}
	d := wire.Reader{Rest: b[2:]}
	*r = Record{Origin: Origin{d.Uvarint(), d.Uvarint()}, Body: body}
	c := body.fields(coder{b: d.Rest, does: reads, bad: d.Bad}, r)
	if c.bad {
		return 0, corrupt("record cut short")
	}
	return len(b) - len(c.b), nil
}

func corrupt(what string) error {
	return fmt.Errorf("store: decode: %w: %s", bloomery.ErrCorrupt, what)
}

// coder passes over the fields of a record: it writes them, reads them, or bounds the
// length of what would be written. A body names its fields once for all three. Coders are
// values, each of which goes on where the last one has ended: that allocates nothing.
type coder struct {
	b     []byte // what was written, or what is left to read
	does  action
	bad   bool // what is left to read was cut short; from then on all is zero
	bound int
}

// action is what a coder does.
type action uint8

const (
	writes action = iota
	reads
	bounds
)

// reader returns what reads from here on, and behind the coder that goes on behind it.
func (c coder) reader() wire.Reader { return wire.Reader{Rest: c.b, Bad: c.bad} }

func (c coder) behind(d wire.Reader) coder {
	c.b, c.bad = d.Rest, d.Bad
	return c
}

// uvarint passes over a number.
func (c coder) uvarint(v *uint64) coder {
	switch c.does {
	case writes:
		c.b = appendUvarint(c.b, *v)
	case reads:
		n, size := binary.Uvarint(c.b)
		*v, c = n, c.passed(size)
	}
	return c
}

// varint passes over a number that may be negative.
func (c coder) varint(v *int64) coder {
	switch c.does {
	case writes:
		c.b = binary.AppendVarint(c.b, *v)
	case reads:
		n, size := binary.Varint(c.b)
		*v, c = n, c.passed(size)
	}
	return c
}

// passed is behind a varint of so many bytes.
func (c coder) passed(size int) coder {
	if size <= 0 || c.bad {
		c.bad = true
		return c
	}
	c.b = c.b[size:]
	return c
}

// signed passes over a number that is encoded as one that may be negative.
func (c coder) signed(v *uint64) coder {
	n := int64(*v)
	c = c.varint(&n)
	*v = uint64(n)
	return c
}

// float passes over the bits of a number.
func (c coder) float(v *float64) coder {
	n := math.Float64bits(*v)
	c = c.signed(&n)
	*v = math.Float64frombits(n)
	return c
}

// bits passes over the 8 bytes of a number.
func (c coder) bits(v *float64) coder {
	switch c.does {
	case writes:
		c.b = binary.LittleEndian.AppendUint64(c.b, math.Float64bits(*v))
	case reads:
		d := c.reader()
		*v = math.Float64frombits(d.Uint64())
		return c.behind(d)
	}
	return c
}

// short passes over a small number.
func (c coder) short(v *uint16) coder {
	n := uint64(*v)
	c = c.uvarint(&n)
	*v = uint16(n)
	return c
}

// room passes over how much may grow: Unlimited becomes 0.
func (c coder) room(v *uint64) coder {
	if c.does == writes {
		c.b = appendUvarint(c.b, *v+1)
		return c
	}
	n := *v + 1
	c = c.uvarint(&n)
	*v = n - 1
	return c
}

// target passes over which part a record is for.
func (c coder) target(r *Record) coder {
	n := uint64(r.Index)
	c = c.uvarint(&n).uvarint(&r.ID)
	r.Index = uint32(n)
	return c
}

// id passes over an id in a record of the catalogue. A part of it, always the first,
// stands before it.
func (c coder) id(v *uint64) coder {
	first := uint64(0)
	return c.uvarint(&first).uvarint(v)
}

// at passes over the time at which a record was prepared.
func (c coder) at(r *Record) coder { return c.varint(&r.At) }

// byte passes over a byte.
func (c coder) byte(v *uint8) coder {
	switch c.does {
	case writes:
		c.b = append(c.b, *v)
	case reads:
		d := c.reader()
		*v = d.Byte()
		return c.behind(d)
	}
	return c
}

// bool passes over a byte that is 0 or not.
func (c coder) bool(v *bool) coder {
	n := uint8(0)
	if *v {
		n = 1
	}
	c = c.byte(&n)
	*v = n != 0
	return c
}

// bytes passes over a byte string.
func (c coder) bytes(v *[]byte) coder {
	switch c.does {
	case writes:
		c.b = wire.AppendBytes(c.b, *v)
	case reads:
		d := c.reader()
		*v = d.Bytes()
		return c.behind(d)
	case bounds:
		c.bound += len(*v)
	}
	return c
}

// names passes over a list of byte strings.
func (c coder) names(v *[][]byte) coder {
	n := uint64(len(*v))
	if c = c.uvarint(&n); c.does == reads {
		for *v = (*v)[:0]; n > 0 && !c.bad; n-- {
			var name []byte
			c = c.bytes(&name)
			*v = append(*v, name)
		}
		return c
	}
	for _, name := range *v {
		c = c.bytes(&name)
		c.bound += nameBytes
	}
	return c
}

// ids passes over a list of numbers.
func (c coder) ids(v *[]uint64) coder {
	n := uint64(len(*v))
	if c = c.uvarint(&n); c.does == reads {
		for *v = (*v)[:0]; n > 0 && !c.bad; n-- {
			var id uint64
			c = c.uvarint(&id)
			*v = append(*v, id)
		}
		return c
	}
	for _, id := range *v {
		c = c.uvarint(&id)
		c.bound += nameBytes
	}
	return c
}

// digests passes over the digests of a BF.
func (c coder) digests(v *[]redisbloom.Digest) coder {
	switch c.does {
	case writes:
		c.b = appendDigests(c.b, *v)
	case reads:
		d := c.reader()
		*v = readDigests(&d, (*v)[:0])
		return c.behind(d)
	case bounds:
		c.bound += 16 * len(*v)
	}
	return c
}

// hashes passes over hashes of 64 bits.
func (c coder) hashes(v *[]uint64) coder {
	switch c.does {
	case writes:
		c.b = appendHashes(c.b, *v)
	case reads:
		d := c.reader()
		*v = readHashes(&d, (*v)[:0])
		return c.behind(d)
	case bounds:
		c.bound += 8 * len(*v)
	}
	return c
}

// appendUvarint is inlined for a number of one byte, as most are.
func appendUvarint(b []byte, v uint64) []byte {
	if v < 0x80 {
		return append(b, byte(v))
	}
	return binary.AppendUvarint(b, v)
}

// appendTarget appends which part a record is for.
func appendTarget(b []byte, r *Record) []byte {
	return appendUvarint(appendUvarint(b, uint64(r.Index)), r.ID)
}

// appendRoom appends which part a record is for, and by how much that may grow.
func appendRoom(b []byte, r *Record, room uint64) []byte {
	return appendUvarint(appendTarget(b, r), room+1)
}

func appendDigests(b []byte, v []redisbloom.Digest) []byte {
	b = slices.Grow(appendUvarint(b, uint64(len(v))), 16*len(v))
	for _, d := range v {
		b = b[:len(b)+16]
		binary.LittleEndian.PutUint64(b[len(b)-16:], d.A)
		binary.LittleEndian.PutUint64(b[len(b)-8:], d.B)
	}
	return b
}

func appendHashes(b []byte, v []uint64) []byte {
	b = slices.Grow(appendUvarint(b, uint64(len(v))), 8*len(v))
	for _, h := range v {
		b = b[:len(b)+8]
		binary.LittleEndian.PutUint64(b[len(b)-8:], h)
	}
	return b
}

func readDigests(d *wire.Reader, ds []redisbloom.Digest) []redisbloom.Digest {
	n := d.Uvarint()
	if n > uint64(len(d.Rest))/16 {
		d.Bad = true
		return nil
	}
	b := d.Take(16 * n)
	ds = slices.Grow(ds, int(n))[:n]
	for i := range ds {
		ds[i] = redisbloom.Digest{A: binary.LittleEndian.Uint64(b[16*i:]), B: binary.LittleEndian.Uint64(b[16*i+8:])}
	}
	return ds
}

func readHashes(d *wire.Reader, hs []uint64) []uint64 {
	n := d.Uvarint()
	if n > uint64(len(d.Rest))/8 {
		d.Bad = true
		return nil
	}
	b := d.Take(8 * n)
	hs = slices.Grow(hs, int(n))[:n]
	for i := range hs {
		hs[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return hs
}
