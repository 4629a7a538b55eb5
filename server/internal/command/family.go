package command

import (
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/store"
)

// family is what the commands on filters of one kind share.
type family struct {
	kind catalog.Kind
	// narrow reports whether a filter knows items by the digests of very old
	// dumps. It never changes in the life of a filter and needs no lock.
	narrow func(*store.Part) bool
	// hash appends the digests of items to those of the workspace.
	hash func(w *Workspace, c *Call, narrow bool)
	// contains asks for the digests from the one at first on, one for each of
	// found.
	contains func(w *Workspace, p *store.Part, found []bool, first int)
	// appendValue encodes a filter for DUMP, readValue reads it for RESTORE;
	// create and chunk are the records that make it again.
	appendValue   func(b []byte, p *store.Part) []byte
	readValue     func(*rdbReader) restored
	create, chunk store.Op
}

// families is every kind of filter.
var families = []*family{bloomFamily, cuckooFamily}

// familyOf returns the family of a kind, nil for strings.
func familyOf(k catalog.Kind) *family {
	for _, f := range families {
		if f.kind == k {
			return f
		}
	}
	return nil
}
