package compose

import (
	"fmt"
	"io"
	"math"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/fields"
)

// LayersConfig describes how Layers are read.
type LayersConfig struct {
	_ struct{}

	// Exact is the function of NewLayers, which is not encoded; nil if there is none.
	Exact func(key []byte) bool
	// Open returns a layer from its encoding, for Decode and View, which need it; see
	// QuorumConfig.Open.
	Open func(data []byte) (bloomery.Hashed, error)
}

func (l *layers) header() envelope.Header {
	h := envelope.Header{
		Kind: envelope.KindLayers, Hash: l.hasher.Kind(), Check: l.hasher.Check(), Extra: uint32(len(l.members)), Rate: 1,
	}
	for _, m := range l.members {
		st := m.Stats()
		h.Capacity = st.Capacity // of the last
		h.Size += st.Bits
		h.Rate *= st.Asked
	}
	h.Rate = min(h.Rate, math.Nextafter(1, 0))
	return h
}

// encodable returns an error unless the layers can be written.
func (l *layers) encodable() error {
	switch n := len(l.members); {
	case n == 0:
		return errZero
	case n > MaxMembers:
		return fmt.Errorf("%w: %d layers, at most %d can be encoded", bloomery.ErrIncompatible, n, MaxMembers)
	}
	return l.writable()
}

// AppendBinary appends the encoding of all layers to dst, without the exact function and without
// counts. The error wraps ErrIncompatible if a layer has no encoding, has members itself or
// takes no keys.
func (l *Layers) AppendBinary(dst []byte) ([]byte, error) {
	err := l.encodable()
	out := dst
	if err == nil {
		out, err = encodeMembers(dst, l.header(), l.members)
	}
	if err != nil {
		return dst, fmt.Errorf("compose: marshal layers: %w", err)
	}
	return out, nil
}

// MarshalBinary returns the encoding of all layers, see AppendBinary.
func (l *Layers) MarshalBinary() ([]byte, error) { return l.AppendBinary(nil) }

// WriteTo writes the encoding of all layers to w, one by one, without a copy of it in
// memory. Errors are those of AppendBinary, or those of w.
func (l *Layers) WriteTo(w io.Writer) (n int64, err error) {
	if err = l.encodable(); err == nil {
		n, err = writeMembers(w, l.header(), l.members)
	}
	if err != nil {
		err = fmt.Errorf("compose: write layers: %w", err)
	}
	return n, err
}

// Decode returns the Layers that data encodes, with Exact. Errors wrap ErrCorrupt, ErrVersion,
// ErrIncompatible or ErrParameter, or are those of Open.
func (c LayersConfig) Decode(data []byte) (*Layers, error) {
	l := &Layers{}
	_, err := c.open("Decode", &l.layers, data, true)
	if err == nil && l.writable() != nil {
		err = fmt.Errorf("%w: %w", bloomery.ErrCorrupt, l.writable())
	}
	if err != nil {
		return nil, fmt.Errorf("compose: decode layers: %w", err)
	}
	return l, nil
}

// open fills l from data; verify checks the payload. name is that of the method that opens it.
func (c LayersConfig) open(name string, l *layers, data []byte, verify bool) (envelope.Sealed, error) {
	if err := fields.Only(c, name, "Open", "Exact"); err != nil {
		return envelope.Sealed{}, err
	}
	sealed, members, err := decodeMembers(data, envelope.KindLayers, MaxMembers, c.Open, verify)
	if err != nil {
		return sealed, err
	}
	hasher, err := hasherOf(members[0])
	if err != nil {
		return sealed, fmt.Errorf("%w: %w", bloomery.ErrCorrupt, err)
	}
	l.set(hasher, members, c.Exact)
	want := l.header()
	if want.Payload = sealed.Header.Payload; want != sealed.Header {
		return sealed, fmt.Errorf("%w: the header does not fit the layers", bloomery.ErrCorrupt)
	}
	return sealed, nil
}

// layersView is Layers over an encoding that stays where it lies.
type layersView struct {
	layers
	envelope.Viewed
}

// View returns a view of data, the encoding of Layers, with Exact. Open opens the layers, as a
// rule as views, see QuorumConfig.View. Errors are those of Decode.
func (c LayersConfig) View(data []byte) (bloomery.View, error) {
	v := &layersView{}
	sealed, err := c.open("View", &v.layers, data, false)
	if err != nil {
		return nil, fmt.Errorf("compose: view layers: %w", err)
	}
	v.Viewed = envelope.Hold(sealed, "compose")
	return v, nil
}

// Verify checks the payload, that of layers that are views included.
func (v *layersView) Verify() error {
	return v.VerifyAnd(func() error { return verifyMembers(v.members) })
}

// Clone returns Layers, see bloomery.View.
func (v *layersView) Clone() (bloomery.Hashed, error) {
	members, err := cloneMembers(v.members)
	if err != nil {
		return nil, fmt.Errorf("compose: clone layers: %w", err)
	}
	return envelope.Hashed(NewLayers(v.exact, members...))
}
