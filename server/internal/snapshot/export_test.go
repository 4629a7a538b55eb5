package snapshot

import (
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/store"
)

// ReadParts decodes the bodies of a part file's frames, as contents of ids 1 to 3:
// a Bloom filter, a cuckoo filter and a string.
func ReadParts(bodies ...[]byte) error {
	m := Empty()
	m.Items = []Item{
		{ID: 1, Kind: catalog.Bloom, Name: "a"}, {ID: 2, Kind: catalog.Cuckoo, Name: "b"}, {ID: 3, Kind: catalog.String, Name: "c"},
	}
	l := &Loaded{state: store.New(), values: make([]any, len(m.Items))}
	a := assembly{Loaded: l}
	for _, b := range bodies {
		if err := a.take(b, 1<<20, m, 0); err != nil {
			return err
		}
	}
	if err := a.finish(); err != nil {
		return err
	}
	_, err := l.Fill(m, l.state)
	return err
}
