// Package cuckoo has a filter for sets that change: keys can be deleted, and
// counted.
//
//	f := cuckoo.New(1_000_000, 0.01) // a million keys, 1% false positives
//	err := f.InsertString("alice")   // an error if the filter is full
//	f.ContainsString("alice")        // true, always
//	f.DeleteString("alice")          // true: it was there
//	f.ContainsString("alice")        // false, or true with probability 1%
//
// A key is a fingerprint of a few bits in one of two buckets, each of 4 slots:
//
//	buckets  [ a | b |   |   ][ c | d | e | f ][ g |   |   |   ] ...
//	                   ^        |                    ^
//	                   |        in its other bucket  |
//	a new key may be here                     or here
//
// When both buckets of a new key are full, one of their fingerprints moves to
// its own other bucket, which follows from the fingerprint and the bucket
// alone. A lookup is two memory accesses, at any size and load. A filter takes
// 10.5 bits per key at 1% and 13.7 at 0.1%, less than the bits of package bloom
// below 0.4%. Small filters take more: up to some thousand keys their tables
// must not be that full.
//
// # What it promises
//
// A filter made for n keys takes n different keys, but for one filter in a
// million, and keeps its false positive rate then. Large tables are filled to
// 97% before the first key is refused. A key that is refused (ErrFull) leaves
// the filter byte for byte as it was: no key is ever lost. Up to 8 copies of
// one key have room; many keys with copies crowd each other, so count the
// copies twice when choosing a capacity. One history of inserts and deletes
// gives one file.
//
// Delete only what was inserted. Deleting a key that is not there, and that the
// filter takes for present, removes the fingerprint of another key, which is
// then a false negative.
//
// # When to choose another family
//
// Sets that only grow are faster and, above 0.4%, smaller in package bloom,
// which is never full. Sets of unknown size, or that are to be united or
// listed, belong in package quotient. Keys that come more than 8 times belong in
// package counting.
package cuckoo
