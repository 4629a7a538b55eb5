package quotient

import (
	"fmt"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/memory"
)

var (
	_ bloomery.Hashed  = (*View)(nil)
	_ bloomery.Counter = (*View)(nil)
)

// View is a Filter that is read where it lies: in a mapped file or in a part of
// a larger buffer. It cannot be changed; Clone gives a Filter that can. The
// memory must stay as it is while the View is used.
//
// Safe for concurrent use.
type View struct {
	core
	sealed envelope.Sealed
}

// NewView returns a View of data, the encoding of a Filter. It checks header
// and lengths, not the payload: opening costs the same for every size, and a
// damaged payload gives wrong answers, never a panic. Verify checks it.
//
// Errors are those of UnmarshalBinary. A filter with a secret key or a function
// for its hash is opened by Config.NewView.
func NewView(data []byte) (*View, error) { return Config{}.NewView(data) }

// NewView is the function NewView for filters that were made with c.Hasher.
func (c Config) NewView(data []byte) (*View, error) {
	x, sealed, err := open(data, c.Hasher)
	if err != nil {
		return nil, fmt.Errorf("quotient: view: %w", err)
	}
	return &View{x, sealed}, nil
}

// Verify checks the whole payload: its checksums, and that it is the array of
// some multiset. The error wraps ErrCorrupt and names the offset of the damage
// in data, or its block.
func (v *View) Verify() error {
	err := v.sealed.Verify()
	if err == nil {
		err = v.verify()
	}
	if err != nil {
		return fmt.Errorf("quotient: verify: %w", err)
	}
	return nil
}

// Clone returns a Filter of its own memory with the same keys. It checks the
// payload first, since a damaged one must not be changed: errors are those of
// Verify.
func (v *View) Clone() (*Filter, error) {
	if err := v.Verify(); err != nil {
		return nil, err
	}
	f := &Filter{core: v.core}
	f.data = memory.Bytes(len(v.data))
	copy(f.data, v.data)
	return f, nil
}
