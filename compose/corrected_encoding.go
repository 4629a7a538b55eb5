package compose

import (
	"encoding"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/fields"
)

// The payload of a Corrected: a line of words, namely the length of the encoding of the
// filter in bytes, room for reports, and how many there are in the older and in the
// younger half; the filter from a line on, filled up with zeros; the older half
// and the younger half, each in rising order, one after the other.

// CorrectedConfig describes how a Corrected is read.
type CorrectedConfig struct {
	_ struct{}

	// Open returns the filter from its encoding, for Decode and View, which need it; see
	// QuorumConfig.Open. A bloom.Concurrent that is corrected is encoded as a
	// bloom.Filter, and may be opened as either.
	Open func(data []byte) (bloomery.Hashed, error)
}

// correctedHeader returns the header of an encoding by that of its filter, but for the
// length of the payload.
func correctedHeader(filter envelope.Header) envelope.Header {
	filter.Kind, filter.K, filter.Extra, filter.Payload = envelope.KindCorrected, 0, 1, 0
	return filter
}

// AppendBinary appends the encoding of filter and reports to dst. Reports are those that
// are there after the filter was encoded. The error wraps ErrIncompatible if the filter has no
// encoding.
func (c *Corrected) AppendBinary(dst []byte) ([]byte, error) {
	if c.filter == nil {
		return dst, fmt.Errorf("compose: marshal corrected: %w", errZero)
	}
	out, err := c.encode(dst)
	if err != nil {
		return dst, fmt.Errorf("compose: marshal corrected: %w", err)
	}
	return out, nil
}

func (c *Corrected) encode(dst []byte) ([]byte, error) {
	f, ok := c.filter.(encoding.BinaryAppender)
	if !ok {
		return nil, fmt.Errorf("%w: a %T has no encoding", bloomery.ErrIncompatible, c.filter)
	}
	at := len(dst)
	dst = append(dst, make([]byte, envelope.HeaderSize+lineBytes)...)
	start := len(dst)
	dst, err := f.AppendBinary(dst)
	if err != nil {
		return nil, err
	}
	header, err := envelope.ParseHeader(dst[start:])
	if err != nil {
		return nil, err
	}
	n := len(dst) - start
	dst = append(dst, make([]byte, lines(n)-n)...)

	// After the filter: what is in it by an insert from before has no report any more.
	c.mu.Lock()
	old, young := []uint64(nil), []uint64(nil)
	if r := c.reports.Load(); r != nil {
		old, young = sorted(r.old), sorted(r.young)
	}
	c.mu.Unlock()
	for i, w := range []int{n, c.most, len(old), len(young)} {
		binary.LittleEndian.PutUint64(dst[start-lineBytes+8*i:], uint64(w))
	}
	for _, h := range slices.Concat(old, young) {
		dst = binary.LittleEndian.AppendUint64(dst, h)
	}
	return envelope.Seal(dst, at, correctedHeader(header)), nil
}

// MarshalBinary returns the encoding of filter and reports, see AppendBinary.
func (c *Corrected) MarshalBinary() ([]byte, error) { return c.AppendBinary(nil) }

// WriteTo writes the encoding of filter and reports to w.
func (c *Corrected) WriteTo(w io.Writer) (int64, error) { return writeTo(w, c.MarshalBinary) }

// correctedParts are those of an encoding.
type correctedParts struct {
	sealed     envelope.Sealed
	filter     bloomery.Hashed
	hasher     hashing.Hasher
	most       int
	old, young run
}

// Decode returns the Corrected that data encodes, with its reports. Errors wrap
// ErrCorrupt, ErrVersion, ErrIncompatible or ErrParameter, or are those of Open.
func (c CorrectedConfig) Decode(data []byte) (*Corrected, error) {
	p, err := c.open("Decode", data, true)
	if err == nil {
		err = p.check()
	}
	if err != nil {
		return nil, fmt.Errorf("compose: decode corrected: %w", err)
	}
	return p.corrected("decode")
}

// corrected returns the Corrected of parts that were checked.
func (p *correctedParts) corrected(what string) (*Corrected, error) {
	c, err := newCorrected(p.most, p.filter)
	if err != nil {
		return nil, fmt.Errorf("compose: %s corrected: %w: %w", what, bloomery.ErrCorrupt, err)
	}
	if len(p.old)+len(p.young) > 0 {
		c.publish(&reportSet{tableOf(p.young.appendTo(nil)), tableOf(p.old.appendTo(nil))})
	}
	return c, nil
}

// open returns the parts of an encoding; verify checks its payload. name is that of the
// method that opens it.
func (c CorrectedConfig) open(name string, data []byte, verify bool) (p correctedParts, err error) {
	if err := fields.Only(c, name, "Open"); err != nil {
		return p, err
	}
	if c.Open == nil {
		return p, fmt.Errorf("%w: Open is nil, and the filter cannot be opened", bloomery.ErrParameter)
	}
	if p.sealed, err = envelope.Open(data); err != nil {
		return p, err
	}
	if err := p.sealed.Header.CheckKind(envelope.KindCorrected); err != nil {
		return p, err
	}
	if verify {
		if err := p.sealed.Verify(); err != nil {
			return p, err
		}
	}
	encoded, err := p.split()
	if err != nil {
		return p, err
	}
	header, err := envelope.ParseHeader(encoded)
	if err != nil {
		return p, err
	}
	want := correctedHeader(header)
	if want.Payload = p.sealed.Header.Payload; want != p.sealed.Header {
		return p, fmt.Errorf("%w: the header does not fit that of the filter", bloomery.ErrCorrupt)
	}
	if p.filter, err = c.Open(encoded); err != nil {
		return p, err
	}
	if isCorrected(p.filter) {
		return p, fmt.Errorf("%w: a corrected filter in another", bloomery.ErrCorrupt)
	}
	p.hasher, err = hasherOf(p.filter)
	return p, err
}

// split finds the parts of the payload, and returns the encoding of the filter.
func (p *correctedParts) split() ([]byte, error) {
	payload := p.sealed.Payload
	if len(payload) < lineBytes {
		return nil, fmt.Errorf("%w: payload of %d bytes", bloomery.ErrCorrupt, len(payload))
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(payload[8*i:]) }
	rest := uint64(len(payload) - lineBytes)
	size, most, old, young := word(0), word(1), word(2), word(3)
	half := (most + 1) / 2
	switch {
	case size > rest || uint64(lines(int(size))) > rest:
		return nil, fmt.Errorf("%w: a filter of %d bytes, %d are left", bloomery.ErrCorrupt, size, rest)
	case most < 2 || most > MaxReports:
		return nil, fmt.Errorf("%w: room for %d reports", bloomery.ErrCorrupt, most)
	case old > half || young > half || 8*(old+young) != rest-uint64(lines(int(size))):
		return nil, fmt.Errorf("%w: %d and %d reports of %d in %d bytes", bloomery.ErrCorrupt, old, young, most, rest-uint64(lines(int(size))))
	}
	for _, b := range payload[8*4 : lineBytes] {
		if b != 0 {
			return nil, fmt.Errorf("%w: reserved bytes are not zero", bloomery.ErrCorrupt)
		}
	}
	encoded, reports := payload[lineBytes:lineBytes+size:lineBytes+size], payload[lineBytes+lines(int(size)):]
	for _, b := range payload[lineBytes+size : lineBytes+lines(int(size))] {
		if b != 0 {
			return nil, fmt.Errorf("%w: bytes behind the filter are not zero", bloomery.ErrCorrupt)
		}
	}
	p.most, p.old, p.young = int(most), run(reports[:8*old]), run(reports[8*old:])
	return encoded, nil
}

// check returns an error unless the reports are as they are written.
func (p *correctedParts) check() error {
	if !p.old.rising() || !p.young.rising() {
		return fmt.Errorf("%w: the reports are not in rising order", bloomery.ErrCorrupt)
	}
	for i := range p.young.len() {
		if p.old.has(p.young.at(i)) {
			return fmt.Errorf("%w: a report is there twice", bloomery.ErrCorrupt)
		}
	}
	return nil
}

// correctedView is a Corrected over an encoding that stays where it lies.
type correctedView struct {
	corrected
	envelope.Viewed
	parts correctedParts
}

// View returns a view of data, the encoding of a Corrected. Open opens the filter, as a
// rule as a view, see QuorumConfig.View. Errors are those of Decode.
func (c CorrectedConfig) View(data []byte) (bloomery.View, error) {
	p, err := c.open("View", data, false)
	if err != nil {
		return nil, fmt.Errorf("compose: view corrected: %w", err)
	}
	v := &correctedView{Viewed: envelope.Hold(p.sealed, "compose"), parts: p}
	v.filter, v.hasher = p.filter, p.hasher
	v.reports.Store(&reportSet{p.young, p.old})
	return v, nil
}

// Counts returns how many reports there are, and room for how many.
func (v *correctedView) Counts() CorrectedStats {
	held, _ := v.held()
	return CorrectedStats{Held: held, Room: uint64(v.parts.most)}
}

// Verify checks the payload, that of a filter that is a view included.
func (v *correctedView) Verify() error {
	return v.VerifyAnd(func() error {
		if f, ok := v.filter.(bloomery.View); ok {
			if err := f.Verify(); err != nil {
				return err
			}
		}
		return v.parts.check()
	})
}

// Clone returns a Corrected, see bloomery.View.
func (v *correctedView) Clone() (bloomery.Hashed, error) {
	if err := v.Verify(); err != nil {
		return nil, err
	}
	f, ok := v.filter.(bloomery.View)
	if !ok {
		return nil, fmt.Errorf("compose: clone corrected: %w: its filter is a %T, not a view", bloomery.ErrIncompatible, v.filter)
	}
	p := v.parts
	var err error
	if p.filter, err = f.Clone(); err != nil {
		return nil, fmt.Errorf("compose: clone corrected: %w", err)
	}
	return envelope.Hashed(p.corrected("clone"))
}
