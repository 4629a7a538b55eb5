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
func (f *table) header() envelope.Header {
	return envelope.Header{
		Kind:     envelope.KindCuckoo,
		Hash:     f.hasher.Kind(),
		Check:    f.hasher.Check(),
		K:        uint8(f.shape.Width),
		Capacity: f.capacity,
		Rate:     f.rate,
		Size:     f.shape.Bits(),
		Payload:  uint64(prefaceWords+len(f.buckets.Words())) * 8,
	}
}

// preface returns the start of the payload.
func (f *table) preface() []uint64 {
	line := make([]uint64, prefaceWords)
	line[0] = f.items
	return line
}

// parse returns the table that h describes, without its array. given is the
// hasher for filters whose hasher is not in the header.
func parse(h envelope.Header, given hashing.Hasher) (table, error) {
	if err := h.CheckKind(envelope.KindCuckoo); err != nil {
		return table{}, err
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

// over returns f over the payload that it was parsed with. The error wraps
// ErrCorrupt if what is before or behind the slots cannot be so.
func (f table) over(payload []uint64) (table, error) {
	c := newTable(f.hasher, f.shape, f.capacity, f.rate, payload[prefaceWords:])
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
func (f *table) check() error {
	if used := f.buckets.Used(); used != f.items {
		return fmt.Errorf("%w: %d slots are taken, it should be %d", bloomery.ErrCorrupt, used, f.items)
	}
	return nil
}

// opening returns the part of c that opens filters.
func (c Config) opening() envelope.Opening {
	return envelope.Opening{Package: "cuckoo", Config: c, Hasher: c.Hasher, Alloc: c.Alloc}
}

// Decode returns the Filter that data encodes. Of c only Hasher and Alloc may
// be set: Hasher is needed for a filter that was made with a secret key or a
// function, Alloc places the array. The error wraps ErrCorrupt, ErrVersion,
// ErrIncompatible for another kind of filter, ErrKey or ErrParameter, or is
// that of Alloc.
func (c Config) Decode(data []byte) (*Filter, error) {
	return envelope.Decode(c.opening(), "Decode", data, (*Filter).load)
}

// Read is Decode for a reader: it reads one filter, and no byte more. Memory
// grows with the bytes that have arrived, but Alloc is asked for all of it at
// once. Errors are those of Decode, ErrTooLarge, or those of r.
func (c Config) Read(r io.Reader) (*Filter, error) {
	return envelope.ReadFilter(c.opening(), "Read", r, (*Filter).load)
}

// load makes f what a source holds; on error f stays as it was.
func (f *table) load(given hashing.Hasher, from *envelope.Source) error {
	var got table
	_, payload, err := from.Words(func(h envelope.Header) (err error) {
		got, err = parse(h, given)
		return err
	})
	if err == nil {
		got, err = got.over(payload)
	}
	if err == nil && !from.InPlace && !from.Zero(0) {
		err = got.check()
	}
	if err == nil {
		*f = got
	}
	return err
}

// UnmarshalBinary replaces f by the filter that data encodes. If that was made
// with a secret key or a function, f must have been made with the same, see
// Config.Decode. On error f stays as it was; the error wraps ErrCorrupt,
// ErrVersion, ErrIncompatible or ErrKey.
func (f *Filter) UnmarshalBinary(data []byte) error {
	return envelope.Unmarshal("cuckoo", data, f.hasher, f.load)
}

// errZero is the error for the encoding of a filter that was never made.
func errZero(op string) error {
	return fmt.Errorf("cuckoo: %s: %w: a zero filter has no encoding", op, bloomery.ErrParameter)
}
