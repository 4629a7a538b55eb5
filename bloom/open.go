package bloom

import (
	"fmt"
	"io"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/kernel"
	"github.com/bloomery/bloomery/sizing"
)

// opening returns the part of c that opens filters.
func (c Config) opening() envelope.Opening {
	return envelope.Opening{Package: "bloom", Config: c, Hasher: c.Hasher, Alloc: c.Alloc}
}

// Decode returns the Filter that data encodes. Of c only Hasher and Alloc may
// be set: Hasher is needed for a filter that was made with a secret key or a
// function, Alloc places the array. The error wraps ErrCorrupt, ErrVersion,
// ErrIncompatible for another kind of filter, ErrKey or ErrParameter, or is
// that of Alloc.
func (c Config) Decode(data []byte) (*Filter, error) {
	return envelope.Decode(c.opening(), "Decode", data, (*Filter).load)
}

// DecodeStandard is Decode for a Standard.
func (c Config) DecodeStandard(data []byte) (*Standard, error) {
	return envelope.Decode(c.opening(), "DecodeStandard", data, (*Standard).loadStandard)
}

// DecodePartitioned is Decode for a Partitioned.
func (c Config) DecodePartitioned(data []byte) (*Partitioned, error) {
	return envelope.Decode(c.opening(), "DecodePartitioned", data, (*Partitioned).loadPartitioned)
}

// DecodeSplit is Decode for a Split.
func (c Config) DecodeSplit(data []byte) (*Split, error) {
	return envelope.Decode(c.opening(), "DecodeSplit", data, (*Split).load)
}

// DecodeScalable is Decode for a Scalable. Alloc also places the layers that
// are added later.
func (c Config) DecodeScalable(data []byte) (*Scalable, error) {
	return c.growing(envelope.Decode(c.opening(), "DecodeScalable", data, (*Scalable).load))
}

// Read is Decode for a reader and for every kind of this package but Sliced: it reads
// one filter, and no byte more. Memory grows with the bytes that have arrived, but
// Alloc is asked for all of it at once. Errors are those of Decode, ErrTooLarge, or
// those of r.
func (c Config) Read(r io.Reader) (bloomery.Hashed, error) {
	kind, r := envelope.KindOf(r)
	switch kind {
	case envelope.KindStandard:
		return envelope.Hashed(envelope.ReadFilter(c.opening(), "Read", r, (*Standard).loadStandard))
	case envelope.KindPartitioned:
		return envelope.Hashed(envelope.ReadFilter(c.opening(), "Read", r, (*Partitioned).loadPartitioned))
	case envelope.KindSplit:
		return envelope.Hashed(envelope.ReadFilter(c.opening(), "Read", r, (*Split).load))
	case envelope.KindScalable:
		return envelope.Hashed(c.growing(envelope.ReadFilter(c.opening(), "Read", r, (*Scalable).load)))
	}
	return envelope.Hashed(envelope.ReadFilter(c.opening(), "Read", r, (*Filter).load))
}

// growing gives a Scalable the Alloc of c.
func (c Config) growing(s *Scalable, err error) (*Scalable, error) {
	if err == nil {
		s.alloc = c.Alloc
	}
	return s, err
}

// DecodeSliced is Decode for a Sliced.
func (c Config) DecodeSliced(data []byte) (*Sliced, error) {
	return envelope.Decode(c.opening(), "DecodeSliced", data, (*Sliced).load)
}

// ReadSliced is Read for a Sliced.
func (c Config) ReadSliced(r io.Reader) (*Sliced, error) {
	return envelope.ReadFilter(c.opening(), "ReadSliced", r, (*Sliced).load)
}

// load makes f what a source holds; on error f stays as it was.
func (f *lines) load(given hashing.Hasher, from *envelope.Source) error {
	b, words, err := load(from, envelope.KindBloom, sizing.Blocked, given)
	if err == nil {
		*f = lines{b, kernel.Blocks(words)}
	}
	return err
}

func (f *halves) load(given hashing.Hasher, from *envelope.Source) error {
	b, words, err := load(from, envelope.KindSplit, sizing.Split, given)
	if err == nil {
		*f = halves{b, kernel.SplitBlocks(words)}
	}
	return err
}

func (f *flat) loadStandard(given hashing.Hasher, from *envelope.Source) error {
	return f.loadAs(envelope.KindStandard, sizing.Standard, given, from)
}

func (f *flat) loadPartitioned(given hashing.Hasher, from *envelope.Source) error {
	return f.loadAs(envelope.KindPartitioned, sizing.Partitioned, given, from)
}

func (f *flat) loadAs(kind uint16, layout sizing.Layout, given hashing.Hasher, from *envelope.Source) error {
	b, words, err := load(from, kind, layout, given)
	if err == nil {
		*f = newFlat(b, words)
	}
	return err
}

// load returns base and array of what a source holds.
func load(from *envelope.Source, kind uint16, layout sizing.Layout, given hashing.Hasher) (b base, words []uint64, err error) {
	_, words, err = from.Words(func(h envelope.Header) (err error) {
		b, err = parse(h, kind, layout, given)
		return err
	})
	return b, words, err
}

// errZero is the error for the encoding of a filter that was never made.
func errZero(op string) error {
	return fmt.Errorf("bloom: %s: %w: a zero filter has no encoding", op, bloomery.ErrParameter)
}

// panicZero ends a call that would change a filter that was never made.
// constructor is how to make one.
func panicZero(constructor string) {
	panic("bloom: the filter is zero and cannot be changed: make it with " + constructor)
}
