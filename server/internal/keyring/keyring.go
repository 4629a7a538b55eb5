// Package keyring is the secret keys of hashes that a server has, by their ids.
package keyring

import (
	"maps"
	"slices"

	"github.com/bloomery/bloomery/hashing"
)

// Ring is secret keys by id. It is not changed, but replaced.
//
// Safe for concurrent use.
type Ring map[string]hashing.Hasher

// Hasher returns the hasher of a secret key. It reports false if there is no such key.
func (r Ring) Hasher(id string) (hashing.Hasher, bool) {
	h, ok := r[id]
	return h, ok
}

// IDs returns the ids of all secret keys, in order.
func (r Ring) IDs() []string { return slices.Sorted(maps.Keys(r)) }

// With returns the ids of all secret keys with a fingerprint: a file may give one key
// several of them.
func (r Ring) With(check uint64) (ids []string) {
	for id, h := range r {
		if h.Check() == check {
			ids = append(ids, id)
		}
	}
	return ids
}

// ID returns the id of the secret key that a filter hashes with, the first in order of
// several, "" if it has none or that is not known here.
func (r Ring) ID(h hashing.Hasher) string {
	if h.Kind() == hashing.XXH3 {
		return ""
	}
	return r.first(h.Check())
}

// first returns the first id of the secret keys with a fingerprint, "" if there is none.
func (r Ring) first(check uint64) string {
	if ids := r.With(check); len(ids) > 0 {
		return slices.Min(ids)
	}
	return ""
}

// Open returns what opens a filter whose hash has this fingerprint, and whose key had an id.
// Without its key that is keyless: the filter is kept as it is, takes records, and cannot be
// asked.
func (r Ring) Open(id string, kind hashing.Kind, check uint64) hashing.Hasher {
	if kind == hashing.XXH3 {
		return hashing.Seeded(check)
	}
	if h, ok := r[id]; ok && h.Check() == check {
		return h
	}
	// A filter that was loaded or restored where its key was not has no id, or that
	// of another server.
	if h, ok := r[r.first(check)]; ok {
		return h
	}
	return hashing.Keyless(check)
}
