package cuckoo

import (
	"fmt"
	"iter"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/batches"
)

var (
	_ bloomery.Hashed   = (*Filter)(nil)
	_ bloomery.Inserter = (*Filter)(nil)
	_ bloomery.Deleter  = (*Filter)(nil)
	_ bloomery.Counter  = (*Filter)(nil)
)

// Filter is a cuckoo filter: a multiset of keys that can be deleted. See the
// package for how it works and what it promises.
//
// Make one with New or Config.New. A zero Filter is empty and cannot be
// changed or encoded, but UnmarshalBinary can replace it.
//
// Safe for concurrent readers; a writer needs exclusion.
type Filter struct{ table }

// New returns a Filter for n keys with false positive rate p. It panics if n is
// less than 1 or p is not between 2e-9 and 1: use Config.New for values that
// are not constants.
func New(n int, p float64) *Filter {
	f, err := Config{Capacity: n, ErrorRate: p}.New()
	if err != nil {
		panic(err)
	}
	return f
}

// Insert inserts key once more. It returns an error that wraps ErrFull, and
// leaves the filter byte for byte as it was, if there is no room: when more
// than 95% of the slots are taken, or for a ninth copy of a key. It costs two
// memory accesses, and some more as the filter fills.
func (f *Filter) Insert(key []byte) error { return f.InsertHash(f.hasher.Hash(key)) }

// InsertString is Insert for a string.
func (f *Filter) InsertString(key string) error { return f.InsertHash(f.hasher.HashString(key)) }

// InsertHash is Insert for a key whose hash is h.
func (f *Filter) InsertHash(h uint64) error {
	f.mustBeMade()
	i, fingerprint := f.buckets.Place(h)
	if !f.buckets.Replace(i, 0, fingerprint) {
		j := f.buckets.Other(i, fingerprint)
		if !f.buckets.Replace(j, 0, fingerprint) && !makeRoom(&f.buckets, i, j, fingerprint) {
			return f.full()
		}
	}
	f.items++
	return nil
}

// InsertHashes inserts all of hs, in order. It stops at the first error, that
// of InsertHash, and returns how many were inserted.
func (f *Filter) InsertHashes(hs []uint64) (n int, err error) {
	f.mustBeMade()
	return batches.Insert(hs, func(h uint64) error { return f.InsertHash(h) })
}

// InsertKeys is InsertHashes for keys.
func (f *Filter) InsertKeys(keys [][]byte) (n int, err error) {
	f.mustBeMade()
	return batches.Insert(keys, func(key []byte) error { return f.Insert(key) })
}

// InsertStrings is InsertHashes for strings.
func (f *Filter) InsertStrings(keys []string) (n int, err error) {
	f.mustBeMade()
	return batches.Insert(keys, func(key string) error { return f.InsertString(key) })
}

// InsertSeq is InsertKeys for all keys of seq. It does not retain them.
func (f *Filter) InsertSeq(seq iter.Seq[[]byte]) (n int, err error) {
	f.mustBeMade()
	for key := range seq {
		if err := f.Insert(key); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// full returns the error of an insert that found no room.
func (f *Filter) full() error {
	return fmt.Errorf("cuckoo: insert: %w: no room for another key of these buckets, %d of %d slots are taken",
		bloomery.ErrFull, f.items, f.shape.Slots())
}

// Delete removes one occurrence of key. It reports false, and changes nothing,
// if the key is certainly absent. Only keys that were inserted may be deleted:
// another one is a false positive at the false positive rate, and deleting it
// removes the fingerprint of an inserted key, which is then a false negative.
func (f *Filter) Delete(key []byte) bool { return f.DeleteHash(f.hasher.Hash(key)) }

// DeleteString is Delete for a string.
func (f *Filter) DeleteString(key string) bool { return f.DeleteHash(f.hasher.HashString(key)) }

// DeleteHash is Delete for a key whose hash is h.
func (f *Filter) DeleteHash(h uint64) bool {
	f.mustBeMade()
	i, fingerprint := f.buckets.Place(h)
	if !f.buckets.Replace(i, fingerprint, 0) && !f.buckets.Replace(f.buckets.Other(i, fingerprint), fingerprint, 0) {
		return false
	}
	f.items--
	return true
}

// Clone returns a Filter of its own memory with the same keys.
func (f *Filter) Clone() *Filter { return f.clone() }

// Clear removes all keys.
func (f *Filter) Clear() {
	f.mustBeMade()
	clear(f.buckets.Words())
	f.items = 0
}

// mustBeMade panics for a zero Filter, which cannot be changed.
func (f *Filter) mustBeMade() {
	if f.shape.Buckets == 0 {
		panic("cuckoo: the filter is zero and cannot be changed: make it with New or Config.New")
	}
}
