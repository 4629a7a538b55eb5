package codec

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/memory"
)

// Config describes how filters of any kind are opened. Its zero value serves
// for all filters but those that were made with a secret key or a function.
type Config struct {
	_ struct{}

	// Hasher is the one that the filter was made with, if that is not in its
	// encoding: with a secret key or a function.
	Hasher hashing.Hasher
	// Alloc returns memory for the array: at least the given number of bytes,
	// all zero, starting at a multiple of 8, better of 64. Nil means the Go
	// heap. See Config.Alloc of the families. It is called once for each layer
	// and each member, and never for a quotient.Growing, whose segments come
	// and go on the Go heap. A view has no array of its own: View refuses it.
	Alloc func(bytes int) ([]byte, error)
	// Limits bounds what untrusted data can make the process allocate.
	Limits Limits
}

// Limits bounds what the encoding of a filter can make the process allocate.
// It is checked before anything is allocated.
type Limits struct {
	_ struct{}

	// Bytes is the largest size of a filter in memory, also of one whose
	// transport form is much smaller. 0 means the memory of the machine.
	Bytes uint64
}

// most is the limit in bytes.
func (l Limits) most() uint64 {
	if l.Bytes > 0 {
		return min(memory.Limit(), l.Bytes)
	}
	return memory.Limit()
}

// shardBytes is what a shard of a static filter takes beside its array, and
// more.
const shardBytes = 256

// allow returns an error that wraps ErrTooLarge if a filter of the kind with
// this header is larger than the limit.
func (c Config) allow(k Kind, h envelope.Header) error {
	limit := c.Limits.most()
	need, beside := h.EncodedSize(), uint64(0)
	if k.shards != nil {
		beside = min(k.shards(h), 1<<50) * shardBytes
	}
	if need > limit || beside > limit-need {
		return fmt.Errorf("%w: the filter takes %d bytes, the limit is %d", bloomery.ErrTooLarge, need+beside, limit)
	}
	return nil
}

// Open returns the filter that data encodes, of whatever kind, in the plain or
// in the transport form. The error wraps ErrCorrupt, ErrVersion (also for a
// kind that is not known here), ErrKey, ErrTooLarge, or ErrIncompatible for a
// bloom.Sliced, which is not one filter, and for a patch; or it is that of
// Alloc.
func (c Config) Open(data []byte) (bloomery.Hashed, error) {
	if formOf(data) == FormTransport {
		r := bytes.NewReader(data)
		f, err := c.Read(r)
		if err == nil && r.Len() > 0 {
			return nil, fmt.Errorf("codec: open: %w: %d bytes behind the end", bloomery.ErrCorrupt, r.Len())
		}
		return f, err
	}
	k, err := c.kindIn(data)
	if err != nil {
		return nil, fmt.Errorf("codec: open: %w", err)
	}
	return c.decode(k, data)
}

// decode returns the filter of a kind that data encodes. The kinds that have members
// are not opened by the table, which their members are looked up in.
func (c Config) decode(k Kind, data []byte) (bloomery.Hashed, error) {
	switch k.Number {
	case envelope.KindQuorum:
		return envelope.Hashed(compose.QuorumConfig{Open: c.member}.Decode(data))
	case envelope.KindStriped:
		return envelope.Hashed(compose.StripedConfig{Open: c.member}.Decode(data))
	case envelope.KindLayers:
		return envelope.Hashed(compose.LayersConfig{Open: c.member}.Decode(data))
	case envelope.KindCorrected:
		return envelope.Hashed(compose.CorrectedConfig{Open: c.correctedFilter}.Decode(data))
	}
	return k.decode(c, data)
}

// Open is Config.Open with the zero Config.
func Open(data []byte) (bloomery.Hashed, error) { return Config{}.Open(data) }

// Read is Open for a reader: it reads one filter, and no byte more. Memory
// grows with the bytes that have arrived, but Alloc is asked for all of it at
// once. Errors are those of Open, or those of r.
func (c Config) Read(r io.Reader) (bloomery.Hashed, error) {
	magic := make([]byte, len(packMagic))
	n, err := io.ReadFull(r, magic)
	if err != nil && !ended(err) {
		return nil, fmt.Errorf("codec: read: %w", err)
	}
	r = io.MultiReader(bytes.NewReader(magic[:n]), r)
	if formOf(magic[:n]) != FormTransport {
		return c.readPlain(r)
	}
	in := NewReader(r)
	f, err := c.readPlain(in)
	if err != nil {
		return nil, err
	}
	// The filter is complete; the Reader has a word to say after it.
	if _, err := io.Copy(io.Discard, in); err != nil {
		return nil, err
	}
	return f, nil
}

// Read is Config.Read with the zero Config.
func Read(r io.Reader) (bloomery.Hashed, error) { return Config{}.Read(r) }

// readPlain reads a filter in the plain form.
func (c Config) readPlain(r io.Reader) (bloomery.Hashed, error) {
	head := make([]byte, envelope.HeaderSize)
	n, err := io.ReadFull(r, head)
	if err != nil && !ended(err) {
		return nil, fmt.Errorf("codec: read: %w", err)
	}
	k, err := c.kindIn(head[:n])
	if err != nil {
		return nil, fmt.Errorf("codec: read: %w", err)
	}
	r = io.MultiReader(bytes.NewReader(head), r)
	if k.read != nil {
		return k.read(c, r)
	}
	h, words, _, err := envelope.Read(r, func(envelope.Header) error { return nil })
	if err != nil {
		return nil, fmt.Errorf("codec: read: %w", err)
	}
	return c.decode(k, envelope.Append(nil, h, words))
}

// member opens a member of another filter. It is not made of members itself.
func (c Config) member(data []byte) (bloomery.Hashed, error) {
	k, err := c.memberKind(data)
	if err != nil {
		return nil, err
	}
	return k.decode(c, data)
}

// viewedMember is member for a view.
func (c Config) viewedMember(data []byte) (bloomery.Hashed, error) {
	k, err := c.memberKind(data)
	if err != nil {
		return nil, err
	}
	return k.view(c, data)
}

func (c Config) memberKind(data []byte) (Kind, error) {
	if formOf(data) != FormPlain {
		return Kind{}, fmt.Errorf("%w: a member that is not in the plain form", bloomery.ErrCorrupt)
	}
	k, err := c.kindIn(data)
	if err == nil {
		err = k.memberOf()
	}
	return k, err
}

// memberOf returns an error unless a filter of the kind can be a member.
func (k Kind) memberOf() error {
	switch {
	case k.read == nil:
		return fmt.Errorf("%w: a member that has members", bloomery.ErrCorrupt)
	case k.Features.Static: // whose shards, of all members together, no limit would count
		return fmt.Errorf("%w: a member that takes no keys", bloomery.ErrCorrupt)
	}
	return nil
}

// correctedFilter opens the filter of a corrected one, of any kind but those that are
// opened by this.
func (c Config) correctedFilter(data []byte) (bloomery.Hashed, error) {
	k, err := c.correctedKind(data)
	if err != nil {
		return nil, err
	}
	return c.decode(k, data)
}

// viewedCorrected is correctedFilter for a view.
func (c Config) viewedCorrected(data []byte) (bloomery.Hashed, error) {
	k, err := c.correctedKind(data)
	if err != nil {
		return nil, err
	}
	return c.viewed(k, data)
}

func (c Config) correctedKind(data []byte) (Kind, error) {
	if formOf(data) != FormPlain {
		return Kind{}, fmt.Errorf("%w: a filter that is not in the plain form", bloomery.ErrCorrupt)
	}
	k, err := c.kindIn(data)
	if err == nil && k.Number == corrected.Number {
		err = fmt.Errorf("%w: a corrected filter in another", bloomery.ErrCorrupt)
	}
	return k, err
}

// ended reports whether an error is the end of the data, not a failure of a
// reader.
func ended(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// View returns a view of data, the plain encoding of a filter of any kind. Alloc
// must not be set. Errors are those of Open; a transport form and a
// compose.Striped cannot be viewed, which is ErrIncompatible.
func (c Config) View(data []byte) (bloomery.View, error) {
	if c.Alloc != nil {
		return nil, fmt.Errorf("codec: view: %w: Alloc is set, which View does not use", bloomery.ErrParameter)
	}
	if formOf(data) == FormTransport {
		return nil, fmt.Errorf("codec: view: %w: a transport form cannot be read where it lies, open it", bloomery.ErrIncompatible)
	}
	k, err := c.kindIn(data)
	if err != nil {
		return nil, fmt.Errorf("codec: view: %w", err)
	}
	return c.viewed(k, data)
}

// viewed returns a view of a filter of a kind, see decode.
func (c Config) viewed(k Kind, data []byte) (bloomery.View, error) {
	switch k.Number {
	case envelope.KindQuorum:
		return compose.QuorumConfig{Open: c.viewedMember}.View(data)
	case envelope.KindLayers:
		return compose.LayersConfig{Open: c.viewedMember}.View(data)
	case envelope.KindCorrected:
		return compose.CorrectedConfig{Open: c.viewedCorrected}.View(data)
	case envelope.KindStriped:
		return nil, fmt.Errorf("codec: view: %w: a filter of kind %s cannot be read where it lies, open it", bloomery.ErrIncompatible, k.Name)
	}
	return k.view(c, data)
}

// kindIn returns the kind of the filter whose encoding begins with data.
func (c Config) kindIn(data []byte) (Kind, error) {
	if formOf(data) == FormPatch {
		return Kind{}, fmt.Errorf("%w: a patch is not a filter", bloomery.ErrIncompatible)
	}
	header, err := envelope.ParseHeader(data)
	if err != nil {
		return Kind{}, err
	}
	k, err := kindOf(header.Kind)
	if err != nil {
		return Kind{}, err
	}
	return k, c.allow(k, header)
}

// Form is a form of encoding.
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

// formOf returns the form by the first bytes; what is neither a transport form
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
