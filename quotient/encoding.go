package quotient

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/sizing"
)

// totalsBytes is how long the totals are, which the payload begins with.
const totalsBytes = 3 * 8

// header returns the header of the filter's encoding.
func (c *core) header() envelope.Header {
	return envelope.Header{
		Kind:     envelope.KindQuotient,
		Hash:     c.hasher.Kind(),
		Check:    c.hasher.Check(),
		K:        uint8(c.shape.Remainder),
		Extra:    uint32(c.shape.Slots) | uint32(c.shape.Spill)<<8,
		Capacity: c.capacity,
		Rate:     c.rate,
		Size:     c.shape.Bits(),
		Payload:  totalsBytes + uint64(len(c.data)),
	}
}

// parse returns the core that h describes, without its array. given is the
// hasher for filters whose hasher is not in the header.
func parse(h envelope.Header, given hashing.Hasher) (core, error) {
	if h.Kind != envelope.KindQuotient {
		return core{}, fmt.Errorf("%w: the filter is of kind %d, not of kind %d (quotient)",
			bloomery.ErrIncompatible, h.Kind, envelope.KindQuotient)
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

// fill gives c the totals and the array of a payload, unchecked.
func (c *core) fill(payload []byte) {
	le := binary.LittleEndian
	c.table = newTable(c.shape, payload[totalsBytes:])
	c.setTotals(totals{items: le.Uint64(payload), distinct: le.Uint64(payload[8:]), used: le.Uint64(payload[16:])})
}

// verify checks that array and totals are those of a multiset.
func (c *core) verify() error {
	got, err := c.check()
	if err != nil {
		return err
	}
	if got != c.totals || got.used > c.shape.Limit() {
		return fmt.Errorf("%w: the array holds %+v, the totals say %+v", bloomery.ErrCorrupt, got, c.totals)
	}
	return nil
}

// payload returns the parts of the payload.
func (c *core) payload() (totals, array []uint64) {
	return []uint64{c.items, c.distinct, c.used}, envelope.WordsOf(c.data)
}

// AppendBinary appends the encoding of the filter to dst. The error is always
// nil.
func (c *core) AppendBinary(dst []byte) ([]byte, error) {
	totals, array := c.payload()
	return envelope.Append(dst, c.header(), totals, array), nil
}

// MarshalBinary returns the encoding of the filter. The error is always nil.
func (c *core) MarshalBinary() ([]byte, error) { return c.AppendBinary(nil) }

// WriteTo writes the encoding of the filter to w.
func (c *core) WriteTo(w io.Writer) (int64, error) {
	totals, array := c.payload()
	return envelope.WriteTo(w, c.header(), totals, array)
}

// open checks header and lengths of an encoding.
func open(data []byte, given hashing.Hasher) (core, envelope.Sealed, error) {
	sealed, err := envelope.Open(data)
	if err != nil {
		return core{}, sealed, err
	}
	c, err := parse(sealed.Header, given)
	if err != nil {
		return core{}, sealed, err
	}
	c.fill(sealed.Payload)
	return c, sealed, nil
}

// UnmarshalBinary replaces f by the filter that data encodes. If that was made
// with a secret key or a function, f must have been made with the same. On
// error f stays as it was; the error wraps ErrCorrupt, ErrVersion,
// ErrIncompatible or ErrKey.
func (f *Filter) UnmarshalBinary(data []byte) error {
	c, sealed, err := open(data, f.hasher)
	if err == nil {
		err = sealed.Verify()
	}
	if err == nil {
		err = c.verify()
	}
	if err != nil {
		return fmt.Errorf("quotient: unmarshal: %w", err)
	}
	c.data = memory.Bytes(len(c.data))
	copy(c.data, sealed.Payload[totalsBytes:])
	*f = Filter{core: c}
	return nil
}

// ReadFrom replaces f by a filter that it reads from r, and reads no byte more
// than that. Memory grows with what has arrived. On error f stays as it was;
// errors are those of UnmarshalBinary, ErrTooLarge, or those of r.
func (f *Filter) ReadFrom(r io.Reader) (int64, error) {
	var c core
	_, words, n, err := envelope.Read(r, func(h envelope.Header) (err error) {
		c, err = parse(h, f.hasher)
		return err
	})
	if err == nil {
		c.fill(envelope.BytesOf(words))
		err = c.verify()
	}
	if err != nil {
		return n, fmt.Errorf("quotient: read: %w", err)
	}
	*f = Filter{core: c}
	return n, nil
}
