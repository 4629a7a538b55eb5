package compose

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/kernel"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/sizing"
)

// The payload begins with a line of its own, so that the blocks lie on cache
// lines:
//
//	word 0   number of the present generation
//	word 1   burst, as the bits of a float64
//	2 to 7   zero
const windowPreface = 8

// rotates is the bit of the header's extra field that says so; generations are in
// the lower byte.
const rotates = 1 << 8

// header returns the header of the encoding.
func (w *window) header() envelope.Header {
	extra := uint32(w.size.Generations)
	if w.rotate {
		extra |= rotates
	}
	return envelope.Header{
		Kind:     envelope.KindWindow,
		Hash:     w.hasher.Kind(),
		Check:    w.hasher.Check(),
		K:        uint8(w.size.Shape.K),
		Extra:    extra,
		Capacity: w.capacity,
		Rate:     w.rate,
		Size:     w.size.Shape.Bits,
		Payload:  (windowPreface + uint64(len(w.blocks))*8) * 8,
	}
}

func (w *window) preface() []uint64 {
	p := make([]uint64, windowPreface)
	p[0], p[1] = w.current, math.Float64bits(w.size.Burst)
	return p
}

var errZeroWindow = errors.New("compose: marshal: a zero Window has no encoding")

// AppendBinary appends the encoding of the window to dst.
func (w *window) AppendBinary(dst []byte) ([]byte, error) {
	if len(w.blocks) == 0 {
		return dst, errZeroWindow
	}
	return envelope.Append(dst, w.header(), w.preface(), kernel.Words(w.blocks)), nil
}

// MarshalBinary returns the encoding of the window.
func (w *window) MarshalBinary() ([]byte, error) { return w.AppendBinary(nil) }

// WriteTo writes the encoding of the window to dst.
func (w *window) WriteTo(dst io.Writer) (int64, error) {
	if len(w.blocks) == 0 {
		return 0, errZeroWindow
	}
	return envelope.WriteTo(dst, w.header(), w.preface(), kernel.Words(w.blocks))
}

// parseWindow returns the window that a header describes, without its array.
func parseWindow(h envelope.Header, given hashing.Hasher) (window, error) {
	if h.Kind != envelope.KindWindow {
		return window{}, fmt.Errorf("%w: the filter is of kind %d, not of kind %d (window)", bloomery.ErrIncompatible, h.Kind, envelope.KindWindow)
	}
	w := window{
		size: sizing.Window{
			Shape:       sizing.Shape{Layout: sizing.Blocked, Bits: h.Size, K: int(h.K)},
			Generations: int(h.Extra &^ rotates),
		},
		capacity: h.Capacity, rate: h.Rate, rotate: h.Extra&rotates != 0,
	}
	switch err := w.size.Shape.Valid(); {
	case err != nil:
		return window{}, fmt.Errorf("%w: %w", bloomery.ErrCorrupt, errors.Unwrap(err))
	case w.size.Generations < 1 || w.size.Generations > sizing.MaxGenerations:
		return window{}, fmt.Errorf("%w: %d generations", bloomery.ErrCorrupt, w.size.Generations)
	case h.Size > math.MaxInt64/64 || h.Payload != windowPreface*8+w.size.Bits()/8:
		return window{}, fmt.Errorf("%w: payload of %d bytes for %d generations of %d bits", bloomery.ErrCorrupt, h.Payload, w.ways(), h.Size)
	case w.rotate && h.Hash == hashing.XXH3:
		return window{}, fmt.Errorf("%w: rotates a secret that XXH3 does not have", bloomery.ErrCorrupt)
	}
	hasher, err := h.Hasher(given)
	w.hasher = hasher
	return w, err
}

// fill gives w the payload.
func (w *window) fill(words []uint64) error {
	preface := words[:windowPreface]
	w.current, w.size.Burst = preface[0], math.Float64frombits(preface[1])
	if b := w.size.Burst; !(b >= 1 && b <= float64(w.size.Generations)) {
		return fmt.Errorf("%w: burst %v of %d generations", bloomery.ErrCorrupt, b, w.size.Generations)
	}
	for _, word := range preface[2:] {
		if word != 0 {
			return fmt.Errorf("%w: reserved words are not zero", bloomery.ErrCorrupt)
		}
	}
	w.attach(kernel.Blocks(words[windowPreface:]))
	return nil
}

// openWindow checks all of an encoding but its payload.
func openWindow(data []byte, given hashing.Hasher) (window, envelope.Sealed, error) {
	sealed, err := envelope.Open(data)
	if err != nil {
		return window{}, sealed, err
	}
	w, err := parseWindow(sealed.Header, given)
	return w, sealed, err
}

// Decode returns the Window that data encodes. Only Hasher and Alloc may be set;
// Hasher is needed for a window that was made with a secret or a function. Errors
// wrap ErrCorrupt, ErrVersion, ErrIncompatible, ErrKey, ErrTooLarge or
// ErrParameter, or are those of Alloc.
func (c WindowConfig) Decode(data []byte) (*Window, error) {
	w, err := c.decode(data)
	if err != nil {
		return nil, fmt.Errorf("compose: decode window: %w", err)
	}
	return w, nil
}

func (c WindowConfig) decode(data []byte) (*Window, error) {
	if err := c.onlyOpens(); err != nil {
		return nil, err
	}
	w, sealed, err := openWindow(data, c.Hasher)
	if err != nil {
		return nil, err
	}
	if err := sealed.Verify(); err != nil {
		return nil, err
	}
	return c.own(w, envelope.WordsOf(sealed.Payload))
}

// own returns a Window with the payload in memory of its own.
func (c WindowConfig) own(w window, payload []uint64) (*Window, error) {
	if err := w.fill(payload); err != nil {
		return nil, err
	}
	words, err := memory.Array(8*len(w.blocks), c.Alloc)
	if err != nil {
		return nil, err
	}
	copy(words, payload[windowPreface:])
	w.attach(kernel.Blocks(words))
	return &Window{w}, nil
}

// Read is Decode for a reader: it reads one window, and no byte more. Memory grows
// with what has arrived. Errors are those of Decode, or those of r.
func (c WindowConfig) Read(r io.Reader) (*Window, error) {
	w, _, err := c.read(r)
	if err != nil {
		return nil, fmt.Errorf("compose: read window: %w", err)
	}
	return w, nil
}

func (c WindowConfig) read(r io.Reader) (*Window, int64, error) {
	if err := c.onlyOpens(); err != nil {
		return nil, 0, err
	}
	var w window
	_, words, n, err := envelope.Read(r, func(h envelope.Header) (err error) {
		w, err = parseWindow(h, c.Hasher)
		return err
	})
	if err != nil {
		return nil, n, err
	}
	if c.Alloc != nil {
		own, err := c.own(w, words)
		return own, n, err
	}
	if err := w.fill(words); err != nil {
		return nil, n, err
	}
	return &Window{w}, n, nil
}

// UnmarshalBinary replaces w by the window that data encodes, see
// WindowConfig.Decode. If that was made with a secret or a function, w must have
// been made with the same. On error w stays as it was.
func (w *Window) UnmarshalBinary(data []byte) error {
	n, err := WindowConfig{Hasher: w.hasher}.decode(data)
	if err != nil {
		return fmt.Errorf("compose: unmarshal window: %w", err)
	}
	*w = *n
	return nil
}

// ReadFrom is UnmarshalBinary for a reader, see WindowConfig.Read.
func (w *Window) ReadFrom(r io.Reader) (int64, error) {
	n, read, err := WindowConfig{Hasher: w.hasher}.read(r)
	if err != nil {
		return read, fmt.Errorf("compose: read window: %w", err)
	}
	*w = *n
	return read, nil
}

// WindowView is a Window that is read where it lies: in a mapped file or in a part
// of a larger buffer. It cannot be changed; Clone gives a Window that can. The
// memory must stay as it is while the view is used.
//
// Safe for concurrent use.
type WindowView struct {
	window
	sealed envelope.Sealed
}

var _ bloomery.Hashed = (*WindowView)(nil)

// View returns a WindowView of data, the encoding of a Window. It checks header
// and lengths, not the payload: a damaged payload can cause false negatives, and
// Verify finds it. Only Hasher may be set; errors are those of Decode.
func (c WindowConfig) View(data []byte) (*WindowView, error) {
	v, err := c.view(data)
	if err != nil {
		return nil, fmt.Errorf("compose: view window: %w", err)
	}
	return v, nil
}

func (c WindowConfig) view(data []byte) (*WindowView, error) {
	if err := c.onlyOpens(); err != nil {
		return nil, err
	}
	w, sealed, err := openWindow(data, c.Hasher)
	if err != nil {
		return nil, err
	}
	if err := w.fill(envelope.WordsOf(sealed.Payload)); err != nil {
		return nil, err
	}
	return &WindowView{w, sealed}, nil
}

// Verify checks the whole payload. The error wraps ErrCorrupt and names the offset
// of the damage.
func (v *WindowView) Verify() error {
	if len(v.blocks) == 0 {
		return errZeroWindow
	}
	if err := v.sealed.Verify(); err != nil {
		return fmt.Errorf("compose: verify window: %w", err)
	}
	return nil
}

// Clone returns a Window of its own memory with the same keys. It checks the
// payload first: errors are those of Verify, or wrap ErrTooLarge.
func (v *WindowView) Clone() (*Window, error) {
	if len(v.blocks) == 0 {
		return nil, errZeroWindow
	}
	if err := v.Verify(); err != nil {
		return nil, err
	}
	if err := memory.Fits(uint64(len(v.blocks)) * 64); err != nil {
		return nil, fmt.Errorf("compose: clone window: %w", err)
	}
	w := Window{v.window}
	return w.Clone(), nil
}
