package quotient

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/sizing"
)

// totalsBytes is how long the totals are, which the payload begins with.
const totalsBytes = 3 * 8

// header returns the header of the filter's encoding.
func (f *core) header() envelope.Header {
	return envelope.Header{
		Kind:     envelope.KindQuotient,
		Hash:     f.hasher.Kind(),
		Check:    f.hasher.Check(),
		K:        uint8(f.shape.Remainder),
		Extra:    uint32(f.shape.Slots) | uint32(f.shape.Spill)<<8,
		Capacity: f.capacity,
		Rate:     f.rate,
		Size:     f.shape.Bits(),
		Payload:  totalsBytes + uint64(len(f.data)),
	}
}

// parse returns the core that h describes, without its array. given is the
// hasher for filters whose hasher is not in the header.
func parse(h envelope.Header, given hashing.Hasher) (core, error) {
	if err := h.CheckKind(envelope.KindQuotient); err != nil {
		return core{}, err
	}
	q := sizing.Quotient{Spill: uint64(h.Extra >> 8), Slots: int(h.Extra & 255), Remainder: int(h.K)}
	block := q.BlockBytes() * 8
	q.Blocks = h.Size/block - q.Spill
	if err := q.Valid(); err != nil {
		return core{}, fmt.Errorf("%w: %w", bloomery.ErrCorrupt, err)
	}
	if h.Size%block != 0 || h.Payload != totalsBytes+arrayBytes(q) {
		return core{}, fmt.Errorf("%w: payload of %d bytes for %d bits", bloomery.ErrCorrupt, h.Payload, h.Size)
	}
	hasher, err := h.Hasher(given)
	return core{hasher: hasher, shape: q, capacity: h.Capacity, rate: h.Rate}, err
}

// fill gives f the totals and the array of a payload, unchecked.
func (f *core) fill(payload []byte) {
	le := binary.LittleEndian
	f.table = newTable(f.shape, payload[totalsBytes:])
	f.unmeasured = true
	f.setTotals(totals{items: le.Uint64(payload), distinct: le.Uint64(payload[8:]), used: le.Uint64(payload[16:])})
}

// verify checks that array and totals are those of a multiset.
func (f *core) verify() error {
	got, err := f.check()
	if err != nil {
		return err
	}
	if got != f.totals || got.used > f.shape.Limit() {
		return fmt.Errorf("%w: the array holds %+v, the totals say %+v", bloomery.ErrCorrupt, got, f.totals)
	}
	return nil
}

// payload returns the parts of the payload.
func (f *core) payload() (totals, array []uint64) {
	return []uint64{f.items, f.distinct, f.used}, envelope.WordsOf(f.data)
}

// AppendBinary appends the encoding of the filter to dst. The error is nil but
// for a zero filter.
func (f *Filter) AppendBinary(dst []byte) ([]byte, error) {
	if len(f.data) == 0 {
		return dst, errZero("marshal")
	}
	totals, array := f.payload()
	return envelope.Append(dst, f.header(), totals, array), nil
}

// MarshalBinary returns the encoding of the filter. The error is nil but for a
// zero filter.
func (f *Filter) MarshalBinary() ([]byte, error) { return f.AppendBinary(nil) }

// WriteTo writes the encoding of the filter to w.
func (f *Filter) WriteTo(w io.Writer) (int64, error) {
	if len(f.data) == 0 {
		return 0, errZero("write")
	}
	totals, array := f.payload()
	return envelope.WriteTo(w, f.header(), totals, array)
}

// opening returns the part of c that opens filters.
func (c Config) opening() envelope.Opening {
	return envelope.Opening{Package: "quotient", Config: c, Hasher: c.Hasher, Alloc: c.Alloc}
}

// Decode returns the Filter that data encodes. Of c only Hasher and Alloc may
// be set: Hasher is needed for a filter that was made with a secret key or a
// function, Alloc places the array, now and when Resize makes it larger. The
// error wraps ErrCorrupt, ErrVersion, ErrIncompatible for another kind of
// filter, ErrKey or ErrParameter, or is that of Alloc.
func (c Config) Decode(data []byte) (*Filter, error) {
	return c.resizing(envelope.Decode(c.opening(), "Decode", data, (*Filter).load))
}

// Read is Decode for a reader, of a Filter or a Growing: it reads one filter, and no
// byte more. Memory grows with the bytes that have arrived, but Alloc, which is for a
// Filter alone, is asked for all of it at once. Errors are those of Decode,
// ErrTooLarge, or those of r.
func (c Config) Read(r io.Reader) (bloomery.Hashed, error) {
	kind, r := envelope.KindOf(r)
	if kind == envelope.KindGrowing {
		return envelope.Hashed(envelope.ReadFilter(c.growingOpening(), "Read", r, (*Growing).load))
	}
	return envelope.Hashed(c.resizing(envelope.ReadFilter(c.opening(), "Read", r, (*Filter).load)))
}

// resizing gives a Filter the Alloc of c.
func (c Config) resizing(f *Filter, err error) (*Filter, error) {
	if err == nil {
		f.alloc = c.Alloc
	}
	return f, err
}

// load makes f what a source holds; on error f stays as it was.
func (f *core) load(given hashing.Hasher, from *envelope.Source) error {
	var got core
	_, words, err := from.Words(func(h envelope.Header) (err error) {
		got, err = parse(h, given)
		return err
	})
	if err != nil {
		return err
	}
	got.fill(envelope.BytesOf(words))
	switch {
	case from.Zero(0): // an empty table, which reaches nowhere
		got.unmeasured = false
	case !from.InPlace:
		if err := got.verify(); err != nil {
			return err
		}
		got.reach, got.unmeasured = got.measured(), false
	}
	*f = got
	return nil
}

// UnmarshalBinary replaces f by the filter that data encodes. If that was made
// with a secret key or a function, f must have been made with the same, see
// Config.Decode. On error f stays as it was; the error wraps ErrCorrupt,
// ErrVersion, ErrIncompatible or ErrKey.
func (f *Filter) UnmarshalBinary(data []byte) error {
	return envelope.Unmarshal("quotient", data, f.hasher, f.load)
}

// errZero is the error for the encoding of a filter that was never made.
func errZero(op string) error {
	return fmt.Errorf("quotient: %s: %w: a zero filter has no encoding", op, bloomery.ErrParameter)
}
