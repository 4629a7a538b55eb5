package store

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/bloomery/bloomery/server/internal/contents"
)

// Operations lists the operations that have a row in the table.
func Operations() (list []Op) {
	for i := range operations {
		if operations[i].body != nil {
			list = append(list, Op(i))
		}
	}
	return list
}

// AppendCatalogue appends all that a record of the catalogue may look at, or decides: what
// has to be the same on every node, whatever it holds, but the roster. The kind of a filter of package codec
// is not part of it: growing changes that, and is a record of parts.
func (s *State) AppendCatalogue(b []byte) []byte {
	b = binary.AppendUvarint(b, s.last)
	for _, e := range s.Names.All() {
		b = fmt.Appendf(b, "\n%d kind %d until %d %q", e.ID, e.Kind, e.When(), e.Name())
		if contents.PartOf(e) == nil {
			b = fmt.Appendf(b, " = %q", Text(e))
		}
		for i, p := range contents.Parts(e) {
			b = fmt.Appendf(b, "\n  %d in %d, made %d, wide %v: %+v", i, p.Shard(), p.Made(), p.Wide(), *p.Asked())
			if plan := p.Described(); plan != nil {
				b = fmt.Appendf(b, " hash %d %x", plan.Hasher.Kind(), plan.Hasher.Check())
			}
		}
	}
	windows := slices.Collect(maps.Keys(s.Windows()))
	windows = slices.DeleteFunc(windows, func(id uint64) bool { return s.Names.ByID(id) == nil })
	slices.Sort(windows)
	return fmt.Appendf(b, "\nwindows %v\n", windows)
}
