package codec

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
)

// Open returns the filter that data encodes, of whatever kind, in the plain
// or in the transport form. h is needed for filters that were made with a
// secret key or a function; the zero Hasher serves for all others. Errors wrap
// ErrCorrupt, ErrVersion (also for a kind that is not known here), ErrKey,
// ErrTooLarge, or ErrIncompatible for a bloom.Sliced, which is not one filter,
// and for a patch.
func Open(data []byte, h hashing.Hasher) (bloomery.Hashed, error) {
	if formOf(data) == FormTransport {
		r := bytes.NewReader(data)
		f, err := Read(r, h)
		if err == nil && r.Len() > 0 {
			return nil, fmt.Errorf("codec: open: %w: %d bytes behind the end", bloomery.ErrCorrupt, r.Len())
		}
		return f, err
	}
	k, err := kindIn(data)
	if err != nil {
		return nil, fmt.Errorf("codec: open: %w", err)
	}
	return k.Decode(data, h)
}

// Read is Open for a reader: it reads one filter, and no byte more. Memory
// grows with what has arrived. Errors are those of Open, or those of r.
func Read(r io.Reader, h hashing.Hasher) (bloomery.Hashed, error) {
	magic := make([]byte, len(packMagic))
	n, err := io.ReadFull(r, magic)
	if err != nil && !ended(err) {
		return nil, fmt.Errorf("codec: read: %w", err)
	}
	r = io.MultiReader(bytes.NewReader(magic[:n]), r)
	if formOf(magic[:n]) != FormTransport {
		return readPlain(r, h)
	}
	in := NewReader(r)
	f, err := readPlain(in, h)
	if err != nil {
		return nil, err
	}
	// The filter is complete; the Reader has a word to say after it.
	if _, err := io.Copy(io.Discard, in); err != nil {
		return nil, err
	}
	return f, nil
}

// readPlain reads a filter in the plain form.
func readPlain(r io.Reader, h hashing.Hasher) (bloomery.Hashed, error) {
	head := make([]byte, envelope.HeaderSize)
	n, err := io.ReadFull(r, head)
	if err != nil && !ended(err) {
		return nil, fmt.Errorf("codec: read: %w", err)
	}
	k, err := kindIn(head[:n])
	if err != nil {
		return nil, fmt.Errorf("codec: read: %w", err)
	}
	return k.Read(io.MultiReader(bytes.NewReader(head), r), h)
}

// ended tells the end of the data from failures of a reader.
func ended(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// NewView returns a view of data, the plain encoding of a filter of any kind.
// It checks header and lengths, not the payload: opening costs the same for
// every size, and a damaged payload can make the filter forget keys. Verify
// checks it. The memory must stay as it is while the view is used. Errors are
// those of Open; a transport form cannot be viewed, which is ErrIncompatible.
func NewView(data []byte, h hashing.Hasher) (View, error) {
	if formOf(data) == FormTransport {
		return nil, fmt.Errorf("codec: view: %w: a transport form cannot be read where it lies, open it", bloomery.ErrIncompatible)
	}
	k, err := kindIn(data)
	if err != nil {
		return nil, fmt.Errorf("codec: view: %w", err)
	}
	return k.View(data, h)
}

// kindIn returns the kind of the filter whose encoding begins with data.
func kindIn(data []byte) (Kind, error) {
	if formOf(data) == FormPatch {
		return Kind{}, fmt.Errorf("%w: a patch is not a filter", bloomery.ErrIncompatible)
	}
	header, err := envelope.ParseHeader(data)
	if err != nil {
		return Kind{}, err
	}
	return kindOf(header.Kind)
}

// Form says how a filter is written down.
type Form uint8

// The forms.
const (
	FormPlain     Form = iota // what MarshalBinary and WriteTo make
	FormTransport             // what Compress and Writer make of it
	FormPatch                 // what Diff makes of two
)

// String returns the name of the form.
func (f Form) String() string {
	switch f {
	case FormPlain:
		return "plain"
	case FormTransport:
		return "transport"
	case FormPatch:
		return "patch"
	}
	return fmt.Sprintf("Form(%d)", uint8(f))
}

// formOf tells the form by the first bytes; what is neither a transport form
// nor a patch counts as plain.
func formOf(data []byte) Form {
	if len(data) < len(packMagic) {
		return FormPlain
	}
	switch string(data[:len(packMagic)]) {
	case packMagic:
		return FormTransport
	case patchMagic:
		return FormPatch
	}
	return FormPlain
}
