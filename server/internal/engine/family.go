package engine

// Family: what filters or sketches of one kind have in common.

import (
	"github.com/bloomery/bloomery/internal/rdb"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/scratch"
	"github.com/bloomery/bloomery/server/internal/store"
)

// Family is what the commands on filters of one kind share.
type Family struct {
	Kind catalog.Kind
	// Hash appends the digests of items, as the filter makes them, to those of the
	// memory and returns where they begin. It needs no lock: how a filter hashes
	// never changes. Filters of several parts have 64-bit hashes.
	Hash func(m *scratch.Memory, p *contents.Part, items [][]byte) (first int)
	// Check, if there is one, is called inside the gate before items are hashed.
	// It may answer calls, and reports whether those that are left are to be run
	// from the beginning again.
	Check func(x *Context, entry *catalog.Entry, calls []Call) (again bool)
	// Contains asks for the digests from the one at first on, one for each of
	// found.
	Contains func(m *scratch.Memory, p *contents.Part, found []bool, first int)
	// Fill puts n digests, from the one at first on, into a record.
	Fill func(m *scratch.Memory, items store.Items, first, n int)
	// WriteValue encodes a filter for DUMP, from the header of its dump;
	// ReadValue reads it for RESTORE.
	WriteValue func(w *rdb.Writer, header []byte)
	ReadValue  func(*rdb.Reader) (header []byte, layers [][]byte)
	// Pack, if there is one, takes the place of WriteValue: it writes a whole
	// filter, outside the gate, whose parts it gets from part. It reports false if the filter is gone, or
	// part has.
	Pack func(w *rdb.Writer, entry *catalog.Entry, part func(index uint32) ([]byte, bool)) bool
	// PackPart, of filters and of sketches that can be merged, returns the encoding of one part, with what it
	// keeps aside.
	PackPart func(p *contents.Part) ([]byte, error)
	// Version is that of the encoding of its values.
	Version uint64
	// Settle, if there is one, returns the record that a DUMP makes first, nil for
	// none. The caller holds a lock of the part.
	Settle func(*contents.Part) store.Body
}
