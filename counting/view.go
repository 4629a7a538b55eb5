package counting

import (
	"fmt"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/envelope"
)

var (
	_ bloomery.Hashed  = (*View)(nil)
	_ bloomery.Counter = (*View)(nil)
	_ bloomery.Hashed  = (*SpectralView)(nil)
	_ bloomery.Counter = (*SpectralView)(nil)
	_ bloomery.Hashed  = (*StableView)(nil)
)

// View is a Filter that is read where it lies: in a mapped file or in a part
// of a larger buffer. It cannot be changed; Clone gives a Filter that can.
// The memory must stay as it is while the View is used.
//
// Safe for concurrent use.
type View struct {
	counted
	sealed envelope.Sealed
}

// NewView returns a View of data, the encoding of a Filter. It checks header
// and lengths, not the payload: opening costs the same for every size, and a
// damaged payload can make the filter forget keys. Verify checks it. Where
// data does not begin at a multiple of 8 bytes, or the machine is big-endian,
// the array is copied.
//
// Errors are those of UnmarshalBinary. A filter with a secret key or a
// function for its hash is opened by Config.NewView.
func NewView(data []byte) (*View, error) { return Config{}.NewView(data) }

// NewView is the function NewView for filters that were made with c.Hasher.
func (c Config) NewView(data []byte) (*View, error) {
	t, sealed, err := view(data, formatFilter, c.Hasher)
	if err != nil {
		return nil, fmt.Errorf("counting: view: %w", err)
	}
	return &View{counted{t}, sealed}, nil
}

// Verify checks the whole payload. The error wraps ErrCorrupt and names the
// offset of the damage in data.
func (v *View) Verify() error { return verify(&v.table, v.sealed) }

// SpectralView is a Spectral that is read where it lies, see View.
//
// Safe for concurrent use.
type SpectralView struct {
	spectrum
	sealed envelope.Sealed
}

// NewSpectralView is NewView for the encoding of a Spectral.
func NewSpectralView(data []byte) (*SpectralView, error) { return Config{}.NewSpectralView(data) }

// NewSpectralView is Config.NewView for the encoding of a Spectral.
func (c Config) NewSpectralView(data []byte) (*SpectralView, error) {
	t, sealed, err := view(data, formatSpectral, c.Hasher)
	if err != nil {
		return nil, fmt.Errorf("counting: view: %w", err)
	}
	return &SpectralView{spectrum{t}, sealed}, nil
}

// Verify is View.Verify.
func (v *SpectralView) Verify() error { return verify(&v.table, v.sealed) }

// StableView is a Stable that is read where it lies, see View.
//
// Safe for concurrent use.
type StableView struct {
	memories
	sealed envelope.Sealed
}

// NewStableView is NewView for the encoding of a Stable.
func NewStableView(data []byte) (*StableView, error) { return Config{}.NewStableView(data) }

// NewStableView is Config.NewView for the encoding of a Stable.
func (c Config) NewStableView(data []byte) (*StableView, error) {
	t, sealed, err := view(data, formatStable, c.Hasher)
	if err != nil {
		return nil, fmt.Errorf("counting: view: %w", err)
	}
	return &StableView{memories{t}, sealed}, nil
}

// Verify is View.Verify.
func (v *StableView) Verify() error { return verify(&v.table, v.sealed) }

func verify(t *table, s envelope.Sealed) error {
	err := s.Verify()
	if err == nil {
		err = t.check()
	}
	if err != nil {
		return fmt.Errorf("counting: verify: %w", err)
	}
	return nil
}
