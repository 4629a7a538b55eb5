package quotient

import (
	"fmt"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/memory"
)

var (
	_ bloomery.Hashed  = (*View)(nil)
	_ bloomery.Counter = (*View)(nil)
)

// View is a Filter that is read where it lies: in a mapped file or in a part of
// a larger buffer. It cannot be changed; Clone returns a Filter that can. The
// memory must stay as it is while the View is used. Make one with Config.View.
//
// Safe for concurrent use.
type View struct {
	core
	sealed envelope.Sealed
}

func (v *View) load(given hashing.Hasher, from *envelope.Source) error {
	err := v.core.load(given, from)
	v.sealed = from.Sealed
	return err
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
