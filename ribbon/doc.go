// Package ribbon has a filter for sets that never change, at the limit of
// space: within half a percent of the log2(1/p) bits per key that any filter
// with false positive rate p needs.
//
//	hashes := make([]uint64, 0, len(words))
//	for _, w := range words {
//		hashes = append(hashes, hashing.Hasher{}.HashString(w))
//	}
//	f, err := ribbon.Build(hashes, 0.01) // 6.74 bits per key
//	f.ContainsString("alice")            // true if it was there, else false with probability 99%
//
// It takes any false positive rate from 1/2 to 2^-32 and keeps it exactly:
// rates between powers of two are a mix of the two beside them. A lookup reads
// one row of bits, two or three cache lines that lie together, and takes two to
// four times as long as in package fuse; in 5% of cases it reads a second one.
// The build takes about 200 ns per key and CPU, and never fails.
//
// # How it works
//
// A table has r bits in each of about n slots. The hash of a key chooses a row
// of 64 slots and which of them to look at, about half; these must xor to the
// key's r-bit fingerprint. The table is the solution of n such equations. An
// absent key finds its fingerprint by chance: 2^-r.
//
// The table is a little too small on purpose. Where equations cannot be solved,
// the keys on the left side of a bucket are bumped to the next layer, a table
// of a twentieth of the size; two bits for each bucket record how many. The keys
// that are left after some layers are listed.
//
//	payload    [ directory ][ shard 0 ][ shard 1 ] ...      chosen by bloomery.Route
//	shard      [ layer 0        ][ layer 1 ][ layer 2 ][ list of hashes ]
//	layer      [ block 0 ][ block 1 ] ...   [ 2 bits for each bucket ]
//	block      r words, or r+1 in the right part of a layer
//	word j     bit j of 64 slots
//	                             |
//	row of a key      ...0010110010...      64 coefficients, over two blocks
//
// All keys are built at once from their 64-bit hashes, up to four million in
// one shard, and shards on all CPUs; [Config.Stream] builds from more than fits
// into memory. The filter follows from the hashes alone: not from their order,
// nor from the number of goroutines.
//
// # Maps
//
// The table can give more than a fingerprint. [BuildMap] returns a [Map], in which
// each key has a value of some bits beside it: which block, which shard, which
// cache has this id, in one lookup.
//
//	m, err := ribbon.BuildMap(hashes, blocks, 8, 1.0/256) // 16.3 bits per key
//	block, ok := m.GetString("alice")                     // her block, and true
//
// # When to choose another family
//
// Package fuse answers in half to a quarter of the time, for 13% more space and
// at three false positive rates. Package bloom takes keys one by one.
package ribbon
