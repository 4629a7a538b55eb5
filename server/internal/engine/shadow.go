package engine

// Contents: shadows, secret keys and families, as commands see them.

import (
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/store"
)

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
