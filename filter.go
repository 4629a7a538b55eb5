package bloomery

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
