package compose

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
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

// The bits of the header's extra field that say so; generations are in the lower
// byte.
const (
	rotates = 1 << 8
	halves  = 1 << 9 // the layout is sizing.Split
)

// header returns the header of the encoding.
func (w *window) header() envelope.Header {
	extra := uint32(w.size.Generations)
	if w.rotate {
		extra |= rotates
	}
	if w.size.Shape.Layout == sizing.Split {
		extra |= halves
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
		Payload:  (windowPreface + uint64(len(w.words))) * 8,
	}
}

func (w *window) preface() []uint64 {
	p := make([]uint64, windowPreface)
	p[0], p[1] = w.current, math.Float64bits(w.size.Burst)
	return p
}

// AppendBinary appends the encoding of the window to dst. The error is nil but
// for a zero window.
func (w *Window) AppendBinary(dst []byte) ([]byte, error) {
	if len(w.words) == 0 {
		return dst, fmt.Errorf("compose: marshal window: %w", errZero)
	}
	return envelope.Append(dst, w.header(), w.preface(), w.whole()), nil
}

// MarshalBinary returns the encoding of the window. The error is nil but for a
// zero window.
func (w *Window) MarshalBinary() ([]byte, error) { return w.AppendBinary(nil) }

// WriteTo writes the encoding of the window to dst.
func (w *Window) WriteTo(dst io.Writer) (int64, error) {
	if len(w.words) == 0 {
		return 0, fmt.Errorf("compose: write window: %w", errZero)
	}
	return envelope.WriteTo(dst, w.header(), w.preface(), w.whole())
}

// parseWindow returns the window that a header describes, without its array.
func parseWindow(h envelope.Header, given hashing.Hasher) (window, error) {
	if err := h.CheckKind(envelope.KindWindow); err != nil {
		return window{}, err
	}
	layout := sizing.Blocked
	if h.Extra&halves != 0 {
		layout = sizing.Split
	}
	w := window{
		size: sizing.Window{
			Shape:       sizing.Shape{Layout: layout, Bits: h.Size, K: int(h.K)},
			Generations: int(h.Extra &^ (rotates | halves)),
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
	case w.rotate && layout == sizing.Split:
		return window{}, fmt.Errorf("%w: rotates a secret in blocks of half a line", bloomery.ErrCorrupt)
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
	w.attach(words[windowPreface:])
	return nil
}

// load makes w what a source holds; on error w stays as it was.
func (w *window) load(given hashing.Hasher, from *envelope.Source) error {
	var got window
	_, words, err := from.Words(func(h envelope.Header) (err error) {
		got, err = parseWindow(h, given)
		return err
	})
	if err == nil {
		err = got.fill(words)
	}
	if err == nil {
		*w = got
	}
	return err
}

// load is that of window, and counts the keys.
func (w *Window) load(given hashing.Hasher, from *envelope.Source) error {
	err := w.window.load(given, from)
	switch {
	case err != nil:
	case from.Zero(windowPreface):
		w.counts = make([]uint64, w.ways())
	default:
		w.recount()
	}
	return err
}

// opening returns the part of c that opens windows.
func (c WindowConfig) opening() envelope.Opening {
	return envelope.Opening{Package: "compose", Config: c, Hasher: c.Hasher, Alloc: c.Alloc}
}

// Decode returns the Window that data encodes. Of c only Hasher and Alloc may be
// set; Hasher is needed for a window that was made with a secret key or a
// function. The error wraps ErrCorrupt, ErrVersion, ErrIncompatible for another
// kind of filter, ErrKey, ErrTooLarge or ErrParameter, or is that of Alloc.
func (c WindowConfig) Decode(data []byte) (*Window, error) {
	return envelope.Decode(c.opening(), "Decode", data, (*Window).load)
}

// Read is Decode for a reader: it reads one window, and no byte more. Memory grows
// with the bytes that have arrived, but Alloc is asked for all of it at once.
// Errors are those of Decode, or those of r.
func (c WindowConfig) Read(r io.Reader) (*Window, error) {
	return envelope.ReadFilter(c.opening(), "Read", r, (*Window).load)
}

// UnmarshalBinary replaces w by the window that data encodes. If that was made
// with a secret key or a function, w must have been made with the same, see
// WindowConfig.Decode. On error w stays as it was; the error wraps ErrCorrupt,
// ErrVersion, ErrIncompatible, ErrKey or ErrTooLarge.
func (w *Window) UnmarshalBinary(data []byte) error {
	return envelope.Unmarshal("compose", data, w.hasher, w.load)
}

// windowView is a window over an encoding that stays where it lies.
type windowView struct {
	window
	envelope.Viewed
}

// View returns a view of data, the encoding of a Window. Of c only Hasher may be set.
// Errors are those of Decode.
func (c WindowConfig) View(data []byte) (bloomery.View, error) {
	return envelope.View(c.opening(), data, (*windowView).load)
}

// Clone returns a Window, see bloomery.View.
func (w *windowView) Clone() (bloomery.Hashed, error) {
	if err := w.Verify(); err != nil {
		return nil, err
	}
	if err := memory.Fits(uint64(len(w.words)) * 8); err != nil {
		return nil, fmt.Errorf("compose: clone: %w", err)
	}
	return (&Window{w.window}).Clone(), nil
}
