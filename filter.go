package bloomery

import (
	"encoding"
	"fmt"
	"io"
)

// Filter is what every kind of filter can do.
type Filter interface {
	// Contains reports whether key may be in the set. False is certain.
	Contains(key []byte) bool
	// Stats describes the state of the filter. It costs the same for every
	// size: large arrays are sampled, never scanned.
	Stats() Stats
}

// Hashed is a Filter that is asked by 64-bit hash. Hashes must be well mixed:
// use Hash, or another function whose 64 bits are all equally good.
type Hashed interface {
	Filter
	// Hash returns this filter's hash of key.
	Hash(key []byte) uint64
	// ContainsHash is Contains for a key whose hash is h.
	ContainsHash(h uint64) bool
	// ContainsHashes sets dst[i] to ContainsHash(hs[i]) for every i. It is
	// faster than as many single calls. It panics if dst is shorter than hs.
	ContainsHashes(dst []bool, hs []uint64)
}

// Adder is a set that grows: adding is idempotent and never fails.
type Adder interface {
	// AddHash adds a key by its hash and reports whether the filter changed.
	// False means that the key was, or seemed to be, there already.
	AddHash(h uint64) bool
	// AddHashes adds all of hs in order. If dst is not nil, dst[i] is what
	// AddHash(hs[i]) would have returned; it panics if dst is then shorter
	// than hs.
	AddHashes(dst []bool, hs []uint64)
}

// Inserter is a multiset that grows: inserting a key twice counts twice.
type Inserter interface {
	// InsertHash inserts a key by its hash. It returns an error that wraps
	// ErrFull, and changes nothing, if there is no room.
	InsertHash(h uint64) error
}

// Deleter is a multiset that shrinks.
type Deleter interface {
	// DeleteHash removes one occurrence of a key that was inserted. It
	// reports false, and changes nothing, if the key is certainly absent.
	DeleteHash(h uint64) bool
}

// Counter is a multiset that counts the occurrences of a key.
type Counter interface {
	// CountHash returns an upper bound of the number of occurrences.
	CountHash(h uint64) uint64
}

// Getter is a set whose keys have a value each.
type Getter interface {
	// GetHash returns the value of the key with hash h and true, or false if
	// the key is certainly absent. Keys that are absent and not recognised as
	// such get some value.
	GetHash(h uint64) (value uint32, ok bool)
	// GetHashes sets values[i] and ok[i] to GetHash(hs[i]) for every i. It
	// panics if one of them is shorter than hs.
	GetHashes(values []uint32, ok []bool, hs []uint64)
}

// View is a filter of any kind that is read where it lies, in a mapped file or in a
// part of a larger buffer. It cannot be changed, and the memory must stay as it is
// while the View is used. Config.View of every family makes one, codec.Config.View
// one of any kind, and file.Map one of a file.
//
// Opening checks header and lengths, not the payload, so it costs the same for
// every size; a corrupt payload can cause false negatives until Verify finds it.
//
// A View has the other methods of its kind that read, too: one of a kind that counts is
// a Counter, that of a bloom.Scalable an interface{ Layers() int }. Only the families
// of this module implement View: methods may be added.
//
// Safe for concurrent use.
type View interface {
	Hashed
	// ContainsString is Contains for a string.
	ContainsString(key string) bool
	// ContainsKeys is ContainsHashes for keys.
	ContainsKeys(dst []bool, keys [][]byte)
	// ContainsStrings is ContainsHashes for strings.
	ContainsStrings(dst []bool, keys []string)
	// String returns Stats as a line of text.
	fmt.Stringer

	// Verify checks the whole payload. The error wraps ErrCorrupt and names the
	// offset of the damage.
	Verify() error
	// Clone returns a filter in memory of its own, with the type of its kind, such
	// as *bloom.Filter. It checks the payload first: errors are those of Verify, or
	// wrap ErrTooLarge.
	Clone() (Hashed, error)

	// The encoding is copied as it lies, with its checksums: damage is still
	// detected in the copy.
	io.WriterTo
	encoding.BinaryMarshaler
	encoding.BinaryAppender
}
