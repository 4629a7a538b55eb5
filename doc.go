// Package bloomery is the vocabulary of approximate membership: the interfaces
// that every filter of this module implements, the Stats that describe it and
// the errors it returns. No algorithm lives here; filters are in the packages
// below it (bloom is the one to start with).
//
// A filter answers one question: is this key in the set? "No" is certain. "Yes"
// is wrong for a share of the absent keys, the false positive rate, which the
// user chooses when the filter is made.
//
// # Keys and hashes
//
// [Filter] speaks keys, [Hashed] speaks 64-bit hashes. Every family of this
// module is Hashed: a key is hashed once and the hash serves any number of
// filters. Code that works over several families takes Hashed, since a []byte
// that passes through an interface is moved to the heap.
//
// # Add and Insert
//
// [Adder] is for sets: adding a key twice is the same as adding it once, so a
// retry is harmless and adding never fails. [Inserter] is for multisets:
// inserting twice counts twice, and a full filter refuses.
package bloomery
