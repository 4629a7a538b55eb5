package counting

import (
	"fmt"
	"io"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/sizing"
)

// parse returns the table that h describes, without its array. given is the
// hasher for filters whose hasher is not in the header.
func parse(h envelope.Header, form format, given hashing.Hasher) (table, error) {
	if h.Kind != form.kind {
		return table{}, fmt.Errorf("%w: the filter is of kind %d, not of kind %d (%s)", bloomery.ErrIncompatible, h.Kind, form.kind, form.name)
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

// view returns a table that lies in data, one encoding of the kind, and checks
// header and lengths.
func view(data []byte, form format, given hashing.Hasher) (table, envelope.Sealed, error) {
	sealed, err := envelope.Open(data)
	if err != nil {
		return table{}, sealed, err
	}
	t, err := parse(sealed.Header, form, given)
	if err != nil {
		return table{}, sealed, err
	}
	t.hold(envelope.WordsOf(sealed.Payload))
	return t, sealed, nil
}

// unmarshal returns the table that data encodes and checks all of it.
func unmarshal(data []byte, form format, given hashing.Hasher) (table, error) {
	sealed, err := envelope.Open(data)
	if err != nil {
		return table{}, fmt.Errorf("counting: unmarshal: %w", err)
	}
	t, err := parse(sealed.Header, form, given)
	if err == nil {
		err = sealed.Verify()
	}
	if err == nil {
		t.hold(sealed.Words())
		err = t.check()
	}
	if err != nil {
		return table{}, fmt.Errorf("counting: unmarshal: %w", err)
	}
	return t, nil
}

// read reads and checks one encoding of the kind, and no byte more.
func read(r io.Reader, form format, given hashing.Hasher) (t table, n int64, err error) {
	_, words, n, err := envelope.Read(r, func(h envelope.Header) (err error) {
		t, err = parse(h, form, given)
		return err
	})
	if err == nil {
		t.hold(words)
		err = t.check()
	}
	if err != nil {
		return table{}, n, fmt.Errorf("counting: read: %w", err)
	}
	return t, n, nil
}

// check checks what a sound checksum does not tell: that the words can be the
// state of such a filter.
func (t *table) check() error {
	switch t.form.kind {
	case envelope.KindSpectral:
		return t.checkSpectral()
	case envelope.KindStable:
		if err := t.checkStable(); err != nil {
			return err
		}
	}
	return t.soundPlanes()
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
