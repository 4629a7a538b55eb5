package ribbon

import (
	"fmt"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/envelope"
)

// view is a table over an encoding that stays where it lies.
type view struct {
	table
	envelope.Viewed
}

// View returns a view of data, the encoding of a Filter or a Map; that of a Map is a
// bloomery.Getter, too. It checks header, lengths
// and the directory of the shards, not the arrays. Where data does not start at a
// multiple of 8 bytes, or the machine is big-endian, the array is copied. Of c only
// Hasher may be set. Errors are those of Decode.
func (c Config) View(data []byte) (bloomery.View, error) {
	if envelope.KindIn(data) == envelope.KindMap {
		return envelope.View(c.opening(), data, (*mapView).load)
	}
	return envelope.View(c.opening(), data, (*view).load)
}

// Clone returns a Filter, see bloomery.View.
func (f *view) Clone() (bloomery.Hashed, error) {
	t, err := f.cloned(&f.Viewed)
	if err != nil {
		return nil, err
	}
	return &Filter{t}, nil
}

// cloned returns the table of a view in memory of its own.
func (f *table) cloned(v *envelope.Viewed) (table, error) {
	if err := v.Verify(); err != nil {
		return table{}, err
	}
	t := *f
	if err := t.attach(v.Sealed.Words()); err != nil {
		return table{}, fmt.Errorf("ribbon: clone: %w", err)
	}
	return t, nil
}
