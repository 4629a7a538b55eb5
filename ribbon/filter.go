package ribbon

import (
	"fmt"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
)

var (
	_ bloomery.Hashed = (*Filter)(nil)
	_ bloomery.Hashed = (*View)(nil)
)

// Filter is a bumped ribbon filter: a set of keys that never changes, in
// hardly more space than any filter needs.
//
// Make one with Build or Config.Build. A zero Filter is empty and cannot be
// encoded, but UnmarshalBinary and ReadFrom can replace it.
//
// Safe for concurrent readers; a writer needs exclusion.
type Filter struct{ table }

// View is a Filter that is read where it lies: in a mapped file or in a part
// of a larger buffer. The memory must stay as it is while the View is used.
// Clone returns a Filter in memory of its own. Make one with Config.View.
//
// Safe for concurrent use.
type View struct {
	table
	sealed envelope.Sealed
}

func (v *View) load(given hashing.Hasher, from *envelope.Source) error {
	err := v.table.load(given, from)
	v.sealed = from.Sealed
	return err
}

// Verify checks the whole payload. The error wraps ErrCorrupt and names the
// offset of the damage in data.
func (v *View) Verify() error {
	if err := v.sealed.Verify(); err != nil {
		return fmt.Errorf("ribbon: verify: %w", err)
	}
	return nil
}

// Clone returns a Filter of its own memory with the same keys. It checks the
// payload first: errors are those of Verify.
func (v *View) Clone() (*Filter, error) {
	if err := v.Verify(); err != nil {
		return nil, err
	}
	t := v.table
	if err := t.attach(v.sealed.Words()); err != nil {
		return nil, fmt.Errorf("ribbon: clone: %w", err)
	}
	return &Filter{t}, nil
}
