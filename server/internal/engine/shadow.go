package engine

// Writes to a filter that is being rebuilt.

import (
	"slices"

	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/routes"
	"github.com/bloomery/bloomery/server/internal/store"
)

// shadowOf returns the shadow that a write to a filter has to do with, nil if there is
// none.
func (e *Engine) shadowOf(f *OnFilter, entry *catalog.Entry) *store.Shadow {
	if f.Write == nil || f.Write.Deletes || entry.Kind != catalog.Filter {
		return nil
	}
	if sh := e.state.ShadowOf(entry.ID); sh != nil && !sh.Broken() {
		return sh
	}
	return nil
}

// hashSecond hashes items, whose hashes begin at first, for the shadow as well. Hashes
// that a client has sent are those of both: Check refuses them if the hash differs.
func (w *Workspace) hashSecond(items [][]byte, first int) {
	n := len(w.Hashes)
	w.seconds = slices.Grow(w.seconds[:min(len(w.seconds), first)], n)[:n]
	h, _ := w.shadow.Hasher() // Check has asked for the key
	if w.shadow.Same() {
		copy(w.seconds[first:], w.Hashes[first:])
	} else {
		h.HashKeys(w.seconds[first:], items)
	}
}

// secondParts puts the hashes for the shadow into the ops of parts, whose hashes are
// sorted in routes.
func (w *Workspace) secondParts(ops []*door.Op, first, n int) {
	if w.shadow == nil {
		return
	}
	r := &w.routes
	w.second = routes.Resize(w.second, n)
	for i, at := range r.Place {
		w.second[at] = w.seconds[first+i]
	}
	for _, op := range ops {
		from, to := r.Of(int(op.Record.Index))
		o := op.Record.Body.(*store.FilterAdd)
		o.Shadow, o.Second = w.shadow.Entry.ID, w.second[from:to]
	}
}

// Shadow returns the shadow of a filter, nil if it has none.
func (x Contents) Shadow(entry *catalog.Entry) *store.Shadow { return x.e.state.ShadowOf(entry.ID) }

// Forgets returns the kind of a filter, or of the one that will take its place, if that
// forgets items, "" if not.
func (x Contents) Forgets(entry *catalog.Entry) string { return x.e.state.Forgets(entry) }

// ShadowNamed returns the shadow that will make a name, nil if there is none.
func (x Contents) ShadowNamed(name []byte) *store.Shadow { return x.e.state.ShadowNamed(name) }

// Build builds the filters of a shadow of a static kind that a commit has sealed. It
// takes long.
func (x Contents) Build(sh *store.Shadow, commit uint64) (*store.Built, error) {
	x.e.leave(x.s)
	x.e.waits(x.s, "build a filter")
	return x.e.state.Build(sh, commit)
}

// Key returns the hasher of a secret key. It reports false if there is no such key.
func (x Contents) Key(id string) (hashing.Hasher, bool) { return x.e.state.Key(id) }

// KeyOf returns the id of the secret key that a filter hashes with, "" if it has none or
// that is not known here.
func (x Contents) KeyOf(h hashing.Hasher) string { return x.e.state.KeyID(h) }

// Family returns what the commands on filters of a kind share, nil for strings.
func (x Contents) Family(k catalog.Kind) *Family { return x.e.table.Family(k) }
