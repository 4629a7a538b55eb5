// Package fuse has binary fuse filters: for sets that are known in advance and
// never change. They are the fastest filters to ask among those that take little
// more than the least memory possible.
//
//	hashes := []uint64{h.HashString("alice"), h.HashString("bob")} // h is a hashing.Hasher
//	f, err := fuse.Build[uint8](hashes)
//	f.ContainsString("alice") // true, always
//	f.ContainsString("carol") // false, or true with probability 0.39%
//
// The type is that of the fingerprints, whose bits decide on the false positive
// rate:
//
//	           rate         bits per key    with 4 slots
//	[uint8]    2^-8  0.39%    9.0 (+13%)      8.6 (+7%)
//	[uint16]   2^-16 1.5e-5  18.1            17.1
//	[uint32]   2^-32 2.3e-10 36.1            34.2
//
// at a million keys; fewer keys take more (10.1 bits at 10,000), more a little
// less. A lookup costs three memory accesses, or four, all at once. Building
// takes 30 to 100 ns for each key and 31 bytes of memory beside the hashes.
//
// # Layout
//
// The array is cut into segments of 2^k slots; a slot has one fingerprint. A
// key has a slot in each of three neighbouring segments, and is in the set if
// the xor of what they hold is its fingerprint:
//
//	segment   0        1        2        3        4
//	        [ ...... ][ ..a... ][ ...b.. ][ c..... ][ ...... ]
//	                     a xor b xor c = fingerprint of the key?
//
// Large sets are cut into shards by bloomery.Route, each an array of its own,
// so that they can be built by several goroutines, or one after the other:
// [Config.Stream] builds from a stream that is larger than memory.
//
// The filter follows from the set of hashes: the same set gives the same file,
// byte for byte.
//
// # When to choose another family
//
// Keys can be neither added nor removed. Sets that change want package bloom,
// or cuckoo. Package ribbon needs up to a tenth less memory, at any false
// positive rate, for slower lookups.
package fuse
