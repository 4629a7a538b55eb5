package engine

// Which filters may have which secret key.

import (
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/server/internal/acl"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/glob"
)

// Whoever can add to a filter and ask it learns where its secret key puts items, and so
// which of them are false positives in every other filter with that key. So a key is for
// the filters that its patterns name, or, if it has none, for whoever may touch all keys.
// That is asked whenever a name gets a filter with a key. Filters that have one are used
// by whoever may use their names, whatever the patterns say now.

// secrets are the patterns of names by the id of the key. They never change.
type secrets map[string][]*glob.Pattern

// SetSecretNames sets for secret keys, by their id, the patterns of the names whose
// filters may have them. A key that is not there, or has no pattern, is for users with
// the right to all names.
func (e *Engine) SetSecretNames(patterns map[string][]string) {
	s := secrets{}
	for id, list := range patterns {
		for _, text := range list {
			s[id] = append(s[id], glob.New(text))
		}
	}
	e.secrets.Store(&s)
}

// MayHash reports whether a filter of a name may hash as h does, for the user of the
// call, which it answers if not. Without a secret key it may.
func (x Names) MayHash(c *Call, name []byte, h hashing.Hasher) bool {
	if h.Kind() == hashing.XXH3 || x.hasSecret(name, h) {
		return true
	}
	id := "" // which keys there are is for those who may have all
	if x.touchesAll() {
		id = x.Contents().Keys().ID(h)
	}
	x.denySecret(c, name, id)
	return false
}

// MayCopy is MayHash for a copy of an entry. Others than filters, and nil, may have any
// name.
func (x Names) MayCopy(c *Call, name []byte, entry *catalog.Entry) bool {
	if entry == nil || entry.Kind != catalog.Filter {
		return true
	}
	h, _ := contents.PartOf(entry).Hasher()
	return x.MayHash(c, name, h)
}

// MayMove is MayCopy for the entry itself, with the filter that is built in its place.
func (x Names) MayMove(c *Call, name []byte, entry *catalog.Entry) bool {
	if !x.MayCopy(c, name, entry) {
		return false
	}
	if entry == nil || x.Contents().Shadow(entry) == nil {
		return true
	}
	h, _ := x.Contents().Shadow(entry).Hasher()
	return x.MayHash(c, name, h)
}

// hasSecret reports whether a filter of a name may have the secret key of h. One that is
// not in the file of keys counts as one without patterns: it may come.
func (x *Context) hasSecret(name []byte, h hashing.Hasher) bool {
	ids := x.e.state.Keys().With(h.Check())
	open := len(ids) == 0
	patterns := *x.e.secrets.Load()
	for _, id := range ids {
		open = open || len(patterns[id]) == 0
		for _, p := range patterns[id] {
			if p.MatchBytes(name) {
				return true
			}
		}
	}
	return open && x.Names().touchesAll()
}

// Secret returns the hasher of the secret key that an option of a call names, for a
// filter of the name of the call. It answers if that may not have it, and returns the
// error text if there is no such key.
func (x Names) Secret(c *Call, option, id string) (h hashing.Hasher, text string) {
	h, ok := x.e.state.Keys().Hasher(id)
	switch {
	case ok && x.hasSecret(c.Args[1], h):
	case !ok && x.touchesAll():
		text = "ERR " + option + ": there is no key '" + clipID(id) + "' in the file of keys (serve --keys)"
	default: // nobody else learns which keys there are
		x.denySecret(c, c.Args[1], id)
	}
	return h, text
}

// NewKey returns the id of a secret key that the filter of an entry does not have and that
// the user may give to a filter of its name, "" if there is none.
func (x *Context) NewKey(name string, entry *catalog.Entry) string {
	has, _ := contents.PartOf(entry).Hasher()
	for _, id := range x.Can().KeyIDs() {
		if h, ok := x.e.state.Keys().Hasher(id); ok && !(has.Kind() == h.Kind() && has.Check() == h.Check()) && x.hasSecret([]byte(name), h) {
			return id
		}
	}
	return ""
}

// touchesAll reports whether the user may run the present command on every key, for
// reading and writing.
func (x Names) touchesAll() bool {
	u, cmd := x.who()
	if u.All() {
		return true
	}
	selectors := u.Selectors()
	for i := range selectors {
		if selectors[i].MayRun(cmd.index) && selectors[i].MayTouchAll(acl.Read|acl.Write) {
			return true
		}
	}
	return false
}

// denySecret answers a call that would give a secret key to a filter of a name, and
// notes it. The text is the same whether or not there is such a key.
func (x Names) denySecret(c *Call, name []byte, id string) {
	if !x.Dry() {
		x.e.refuse(x.s, x.s.now, acl.Key, string(name), x.s.Rights().Name())
	}
	if id != "" {
		id = "'" + clipID(id) + "' "
	}
	c.Fail("NOPERM the secret key " + id + "is not for a filter of this name: the file of keys (serve --keys) says which names may have it, " +
		"and a secret key without patterns needs a user with the right to all keys")
}

// clipID returns as much of the id of a key as errors show.
func clipID(id string) string { return id[:min(len(id), 64)] }
