package cuckoo

import (
	"fmt"
	"io"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/kernel"
	"github.com/bloomery/bloomery/sizing"
)

// prefaceWords is what the payload has in front of the array, a cache line:
// the number of items, and zeros.
const prefaceWords = 8

// header returns the header of the encoding.
func (t *table) header() envelope.Header {
	return envelope.Header{
		Kind:     envelope.KindCuckoo,
		Hash:     t.hasher.Kind(),
		Check:    t.hasher.Check(),
		K:        uint8(t.shape.Width),
		Capacity: t.capacity,
		Rate:     t.rate,
		Size:     t.shape.Bits(),
		Payload:  uint64(prefaceWords+len(t.buckets.Words())) * 8,
	}
}

// preface returns the begin of the payload.
func (t *table) preface() []uint64 {
	line := make([]uint64, prefaceWords)
	line[0] = t.items
	return line
}

// parse returns the table that h describes, without its array. given is the
// hasher for filters whose hasher is not in the header.
func parse(h envelope.Header, given hashing.Hasher) (table, error) {
	if h.Kind != envelope.KindCuckoo {
		return table{}, fmt.Errorf("%w: the filter is of kind %d, not of kind %d (cuckoo)",
			bloomery.ErrIncompatible, h.Kind, envelope.KindCuckoo)
	}
	bucket := max(1, uint64(h.K)*sizing.CuckooSlots)
	t := table{
		shape:    sizing.Cuckoo{Buckets: h.Size / bucket, Width: int(h.K)},
		capacity: h.Capacity,
		rate:     h.Rate,
	}
	if err := t.shape.Valid(); err != nil {
		return table{}, fmt.Errorf("%w: %w", bloomery.ErrCorrupt, err)
	}
	words := prefaceWords + kernel.BucketWords(t.shape.Buckets, t.shape.Width)
	if h.Size%bucket != 0 || h.Payload != words*8 || h.Extra != 0 {
		return table{}, fmt.Errorf("%w: payload of %d bytes for %d bits of %d-bit fingerprints", bloomery.ErrCorrupt, h.Payload, h.Size, h.K)
	}
	var err error
	t.hasher, err = h.Hasher(given)
	return t, err
}

// over returns t over the payload that it was parsed with. The error wraps
// ErrCorrupt if what is before or behind the slots cannot be so.
func (t table) over(payload []uint64) (table, error) {
	c := newTable(t.hasher, t.shape, t.capacity, t.rate, payload[prefaceWords:])
	c.items = payload[0]
	for _, w := range payload[1:prefaceWords] {
		if w != 0 {
			return c, fmt.Errorf("%w: the line before the array does not end with zeros", bloomery.ErrCorrupt)
		}
	}
	switch slots := c.shape.Slots(); {
	case c.items > slots:
		return c, fmt.Errorf("%w: %d items in %d slots", bloomery.ErrCorrupt, c.items, slots)
	case c.buckets.Rest():
		return c, fmt.Errorf("%w: there are bits behind the array", bloomery.ErrCorrupt)
	}
	return c, nil
}

// check holds the number of items to the slots, which may be any. It reads the
// whole array.
func (t *table) check() error {
	if used := t.buckets.Used(); used != t.items {
		return fmt.Errorf("%w: %d slots are taken, it should be %d", bloomery.ErrCorrupt, used, t.items)
	}
	return nil
}

// UnmarshalBinary replaces f by the filter that data encodes. If that was made
// with a secret key or a function, f must have been made with the same. On
// error f stays as it was; the error wraps ErrCorrupt, ErrVersion,
// ErrIncompatible or ErrKey.
func (f *Filter) UnmarshalBinary(data []byte) error {
	t, sealed, err := open(data, f.hasher)
	if err == nil {
		err = sealed.Verify()
	}
	if err == nil {
		t, err = t.over(sealed.Words())
	}
	if err == nil {
		err = t.check()
	}
	if err != nil {
		return fmt.Errorf("cuckoo: unmarshal: %w", err)
	}
	*f = Filter{t}
	return nil
}

// open checks header and lengths of one encoding.
func open(data []byte, given hashing.Hasher) (table, envelope.Sealed, error) {
	sealed, err := envelope.Open(data)
	if err != nil {
		return table{}, sealed, err
	}
	t, err := parse(sealed.Header, given)
	return t, sealed, err
}

// ReadFrom replaces f by a filter that it reads from r, and reads no byte
// more than that. Memory grows with what has arrived. On error f stays as it
// was; errors are those of UnmarshalBinary, ErrTooLarge, or those of r.
func (f *Filter) ReadFrom(r io.Reader) (int64, error) {
	var t table
	_, payload, n, err := envelope.Read(r, func(h envelope.Header) (err error) {
		t, err = parse(h, f.hasher)
		return err
	})
	if err == nil {
		t, err = t.over(payload)
	}
	if err == nil {
		err = t.check()
	}
	if err != nil {
		return n, fmt.Errorf("cuckoo: read: %w", err)
	}
	*f = Filter{t}
	return n, nil
}
