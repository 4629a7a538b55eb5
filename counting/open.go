package counting

import (
	"fmt"
	"io"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/sizing"
)

// opening returns the part of c that opens filters.
func (c Config) opening() envelope.Opening {
	return envelope.Opening{Package: "counting", Config: c, Hasher: c.Hasher, Alloc: c.Alloc}
}

// Decode returns the Filter that data encodes. Of c only Hasher and Alloc may
// be set: Hasher is needed for a filter that was made with a secret key or a
// function, Alloc places the array. The error wraps ErrCorrupt, ErrVersion,
// ErrIncompatible for another kind of filter, ErrKey or ErrParameter, or is
// that of Alloc.
func (c Config) Decode(data []byte) (*Filter, error) {
	return envelope.Decode(c.opening(), "Decode", data, (*Filter).load)
}

// DecodeSpectral is Decode for a Spectral.
func (c Config) DecodeSpectral(data []byte) (*Spectral, error) {
	return envelope.Decode(c.opening(), "DecodeSpectral", data, (*Spectral).load)
}

// DecodeStable is Decode for a Stable.
func (c Config) DecodeStable(data []byte) (*Stable, error) {
	return envelope.Decode(c.opening(), "DecodeStable", data, (*Stable).load)
}

// Read is Decode for a reader and for every kind of this package: it reads one filter,
// and no byte more. Memory grows with the bytes that have arrived, but Alloc is asked
// for all of it at once. Errors are those of Decode, ErrTooLarge, or those of r.
func (c Config) Read(r io.Reader) (bloomery.Hashed, error) {
	kind, r := envelope.KindOf(r)
	switch kind {
	case envelope.KindSpectral:
		return envelope.Hashed(envelope.ReadFilter(c.opening(), "Read", r, (*Spectral).load))
	case envelope.KindStable:
		return envelope.Hashed(envelope.ReadFilter(c.opening(), "Read", r, (*Stable).load))
	}
	return envelope.Hashed(envelope.ReadFilter(c.opening(), "Read", r, (*Filter).load))
}

// parse returns the table that h describes, without its array. given is the
// hasher for filters whose hasher is not in the header.
func parse(h envelope.Header, form format, given hashing.Hasher) (table, error) {
	if err := h.CheckKind(form.kind); err != nil {
		return table{}, err
	}
	t := table{form: form, capacity: h.Capacity, rate: h.Rate}
	t.size.Shape = sizing.Shape{Layout: sizing.Blocked, Bits: h.Size, K: int(h.K)}
	t.size.Width = int(h.Extra & 0xff)
	if err := t.size.Valid(); err != nil {
		return table{}, fmt.Errorf("%w: %w", bloomery.ErrCorrupt, err)
	}
	if h.Extra > 0xff || !form.takes(t.size.Width) {
		return table{}, fmt.Errorf("%w: counters of %d bits", bloomery.ErrCorrupt, h.Extra)
	}
	if t.size.Bits > sizing.MaxBits/(1+uint64(t.size.Width)) || h.Payload != 8*form.words(t.size) {
		return table{}, fmt.Errorf("%w: payload of %d bytes for %d bits with counters of %d", bloomery.ErrCorrupt, h.Payload, h.Size, h.Extra)
	}
	if form.kind == envelope.KindStable && h.Capacity == 0 {
		return table{}, fmt.Errorf("%w: a filter that forgets must know after how many keys", bloomery.ErrCorrupt)
	}
	var err error
	t.hasher, err = h.Hasher(given)
	return t, err
}

// load makes f, a table of the format, what a source holds; on error f stays as
// it was.
func (f *table) load(form format, given hashing.Hasher, from *envelope.Source) error {
	var got table
	_, words, err := from.Words(func(h envelope.Header) (err error) {
		got, err = parse(h, form, given)
		return err
	})
	if err != nil {
		return err
	}
	got.hold(words)
	if !from.InPlace && !from.Zero(0) {
		if err := got.check(); err != nil {
			return err
		}
	}
	*f = got
	return nil
}

func (f *counted) load(given hashing.Hasher, from *envelope.Source) error {
	return f.table.load(formatFilter, given, from)
}

func (f *spectrum) load(given hashing.Hasher, from *envelope.Source) error {
	return f.table.load(formatSpectral, given, from)
}

func (f *memories) load(given hashing.Hasher, from *envelope.Source) error {
	return f.table.load(formatStable, given, from)
}

// check checks what a sound checksum does not show: that the words can be the
// state of such a filter.
func (f *table) check() error {
	switch f.form.kind {
	case envelope.KindSpectral:
		return f.checkSpectral()
	case envelope.KindStable:
		if err := f.checkStable(); err != nil {
			return err
		}
	}
	return f.soundPlanes()
}

// zero checks that words without a meaning are 0.
func zero(words []uint64) error {
	for _, w := range words {
		if w != 0 {
			return fmt.Errorf("%w: the rest of the first line is not zero", bloomery.ErrCorrupt)
		}
	}
	return nil
}

// errZero is the error for the encoding of a filter that was never made.
func errZero(op string) error {
	return fmt.Errorf("counting: %s: %w: a zero filter has no encoding", op, bloomery.ErrParameter)
}

// mustBeMade panics for a zero filter, which cannot be changed. constructor is
// how to make one.
func (f *table) mustBeMade(constructor string) {
	if len(f.blocks) == 0 {
		panic("counting: the filter is zero and cannot be changed: make it with " + constructor)
	}
}
