package quotient

import (
	"fmt"
	"io"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
)

var (
	_ bloomery.Hashed  = (*GrowingView)(nil)
	_ bloomery.Counter = (*GrowingView)(nil)
)

// GrowingView is a Growing that is read where it lies: in a mapped file or in a
// part of a larger buffer. It cannot be changed; Clone returns a Growing that
// can. The memory must stay as it is while the GrowingView is used.
// Make one with Config.ViewGrowing.
//
// Safe for concurrent use.
type GrowingView struct {
	segments
	sealed envelope.Sealed
}

// growingOpening returns the part of c that opens filters.
func (c Config) growingOpening() envelope.Opening {
	return envelope.Opening{Package: "quotient", Config: c, Hasher: c.Hasher, OnHeap: true}
}

// DecodeGrowing returns the Growing that data encodes. Of c only Hasher may
// be set, which is needed for a filter that was made with a secret key or a
// function. The error wraps ErrCorrupt, ErrVersion, ErrIncompatible for another
// kind of filter, ErrKey or ErrParameter.
func (c Config) DecodeGrowing(data []byte) (*Growing, error) {
	return envelope.Decode(c.growingOpening(), "DecodeGrowing", data, (*Growing).load)
}

// ReadGrowing is DecodeGrowing for a reader: it reads one filter, and no byte
// more. Memory grows with the bytes that have arrived. Errors are those of
// DecodeGrowing, ErrTooLarge, or those of r.
func (c Config) ReadGrowing(r io.Reader) (*Growing, error) {
	return envelope.ReadFilter(c.growingOpening(), "ReadGrowing", r, (*Growing).load)
}

// ViewGrowing returns a GrowingView of data, the encoding of a Growing. It checks
// header and lengths, not the arrays: opening costs no more than a directory of
// the segments, and a corrupt array can cause false negatives, never a panic.
// Verify checks them. Errors are those of DecodeGrowing.
func (c Config) ViewGrowing(data []byte) (*GrowingView, error) {
	return envelope.View(c.growingOpening(), "ViewGrowing", data, (*GrowingView).load)
}

// load makes g what a source holds; on error g stays as it was.
func (g *segments) load(given hashing.Hasher, from *envelope.Source) error {
	var got segments
	h, words, err := from.Words(func(h envelope.Header) (err error) {
		got, err = parseGrowing(h, given)
		return err
	})
	if err == nil {
		err = got.fill(h, envelope.BytesOf(words))
	}
	if err == nil && !from.InPlace {
		err = got.verify()
	}
	if err == nil {
		*g = got
	}
	return err
}

// load gives every segment its own memory, since segments come and go.
func (g *Growing) load(given hashing.Hasher, from *envelope.Source) error {
	err := g.segments.load(given, from)
	if err == nil {
		g.segments = g.clone()
	}
	return err
}

func (g *GrowingView) load(given hashing.Hasher, from *envelope.Source) error {
	err := g.segments.load(given, from)
	g.sealed = from.Sealed
	return err
}

// Verify checks the whole payload: its checksums, and that it is a filter of some
// multiset. The error wraps ErrCorrupt and names the offset of the damage in
// data, or its segment.
func (g *GrowingView) Verify() error {
	if _, err := g.verified(); err != nil {
		return fmt.Errorf("quotient: verify: %w", err)
	}
	return nil
}

// AppendBinary appends the encoding to dst as it lies. The payload is not checked, and
// its checksums stay the same, so that damage is still detected in the copy. The error
// is nil but for a zero view.
func (g *GrowingView) AppendBinary(dst []byte) ([]byte, error) {
	return g.sealed.AppendTo(dst, "quotient")
}

// MarshalBinary returns a copy of the encoding, see AppendBinary.
func (g *GrowingView) MarshalBinary() ([]byte, error) { return g.AppendBinary(nil) }

// WriteTo writes the encoding to w as it lies, see AppendBinary.
func (g *GrowingView) WriteTo(w io.Writer) (int64, error) { return g.sealed.WriteTo(w, "quotient") }

// verified returns a copy of the directory with the totals of all segments, so
// that a GrowingView stays safe for concurrent use.
func (g *GrowingView) verified() (segments, error) {
	if err := g.sealed.Verify(); err != nil {
		return segments{}, err
	}
	got, err := parseGrowing(g.sealed.Header, g.hasher)
	if err == nil {
		err = got.fill(g.sealed.Header, g.sealed.Payload)
	}
	if err == nil {
		err = got.verify()
	}
	return got, err
}

// Clone returns a Growing of its own memory with the same keys. It checks the
// payload first, since a damaged one must not be changed: errors are those of
// Verify.
func (g *GrowingView) Clone() (*Growing, error) {
	got, err := g.verified()
	if err != nil {
		return nil, fmt.Errorf("quotient: clone: %w", err)
	}
	return &Growing{got.clone()}, nil
}

// UnmarshalBinary replaces g by the filter that data encodes. If that was made
// with a secret key or a function, g must have been made with the same, see
// Config.DecodeGrowing. On error g stays as it was; the error wraps ErrCorrupt,
// ErrVersion, ErrIncompatible or ErrKey.
func (g *Growing) UnmarshalBinary(data []byte) error {
	return envelope.Unmarshal("quotient", data, g.hasher, g.load)
}

// ReadFrom replaces g by a filter that it reads from r, and reads no byte more
// than that. Memory grows with the bytes that have arrived. On error g stays as
// it was; errors are those of UnmarshalBinary, ErrTooLarge, or those of r.
func (g *Growing) ReadFrom(r io.Reader) (int64, error) {
	return envelope.ReadFrom("quotient", r, g.hasher, g.load)
}
