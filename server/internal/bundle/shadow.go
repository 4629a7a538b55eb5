package bundle

// Writes to a filter that is being rebuilt.

import (
	"slices"

	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/routes"
	"github.com/bloomery/bloomery/server/internal/scratch"
	"github.com/bloomery/bloomery/server/internal/store"
)

// shadowOf returns the shadow that a write to a filter has to do with, nil if there is
// none.
func (f *OnFilter) shadowOf(t engine.Turn, entry *catalog.Entry) *store.Shadow {
	if f.Write == nil || f.Write.Deletes || f.Write.Reports || entry.Kind != catalog.Filter {
		return nil
	}
	if sh := t.Context().Contents().Shadow(entry); sh != nil && !sh.Broken() {
		return sh
	}
	return nil
}

// hashSecond hashes items, whose hashes begin at first, for the shadow as well. Hashes
// that a client has sent are those of both: Check refuses them if the hash differs.
func hashSecond(m *scratch.Memory, items [][]byte, first int) {
	n := len(m.Hashes)
	m.Seconds = slices.Grow(m.Seconds[:min(len(m.Seconds), first)], n)[:n]
	h, _ := m.Shadow.Hasher() // Check has asked for the key
	if m.Shadow.Same() {
		copy(m.Seconds[first:], m.Hashes[first:])
	} else {
		h.HashKeys(m.Seconds[first:], items)
	}
}

// secondParts puts the hashes for the shadow into the ops of parts, whose hashes are
// sorted in routes.
func secondParts(m *scratch.Memory, ops []*door.Op, first, n int) {
	if m.Shadow == nil {
		return
	}
	r := &m.Routes
	m.Second = routes.Resize(m.Second, n)
	for i, at := range r.Place {
		m.Second[at] = m.Seconds[first+i]
	}
	for _, op := range ops {
		from, to := r.Of(int(op.Record.Index))
		o := op.Record.Body.(*store.FilterAdd)
		o.Shadow, o.Second = m.Shadow.Entry.ID, m.Second[from:to]
	}
}
