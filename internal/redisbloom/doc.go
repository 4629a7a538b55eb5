// Package redisbloom implements the filters and sketches of RedisBloom, bit for
// bit: [Bloom] is its BF, [Cuckoo] its CF, [CountMin] its CMS, [TopK] its TOPK
// and [TDigest] its TDIGEST. The same items in the same order give the same
// answers, the same sizes and the same dumps, so that dumps can be moved in
// both directions. Package foreign/redisbloom is what programs see of it.
//
// # Bloom
//
// A Bloom is a chain of layers. Only the newest takes items; when it is full,
// the next one has Expansion times its capacity and half its false positive
// rate. A scaling chain starts with half the rate asked for, so that the sum
// stays below it.
//
//	items | options | growth                          the chain
//	┌ layer 0 ┐┌ layer 1 ───────┐┌ layer 2 ──────────────────────────────┐
//	│ n, e    ││ n·g, e/2       ││ n·g², e/4                     newest  │
//	└─────────┘└────────────────┘└───────────────────────────────────────┘
//	 a dump is the header, then the layers end to end:
//	 iter 0      iter 1 …                                           the end
//	 └ header    └ offset 0 of the layers; iter = 1 + offset        iter 0
//
//	bit i of an item: (a + i·b) mod 2^64 mod bits, i = 0 … hashes-1
//	byte 0         byte 1         byte 2
//	76543210       76543210       76543210      bit p is 1<<(p&7) of byte p>>3
//
// The usual filter of one layer is two allocations: 120 bytes and its bits.
//
// # Cuckoo
//
// A Cuckoo is a list of sub-filters; sub-filter i has buckets·expansion^i
// buckets of BucketSize slots. A slot is one byte: 0 is free, otherwise the
// fingerprint of an item, hash mod 255 + 1.
//
//	sub-filter 0              sub-filter 1
//	┌─────┬─────┬─────┬─────┐┌─────┬─────┬───   ───┬─────┐
//	│ 9f·.│ .·. │ d9·01│ .·.││ .·. │ a5·.│    …    │ .·. │
//	└─────┴─────┴─────┴─────┘└─────┴─────┴───   ───┴─────┘
//	 bucket h mod n and bucket (h xor fp·0x5bd1e995) mod n
//
// Inserts try all sub-filters, the newest first; then they kick items of the
// newest to their other buckets; then the list grows. Lookups visit every
// sub-filter, so a list of many is slow: choose the capacity well.
//
// # Sketches
//
// A CountMin has depth rows of width counters. An item has one counter in every
// row; its count is the smallest of them. What it bounds is stated with
// [CountMin]: counts are never too low, and rarely too high by more than 2/width
// of everything that was counted.
//
//	row 0   0 3 0 0 7 0 0 0 1      hash with seed 0, mod width
//	row 1   0 0 0 4 0 0 0 7 0      hash with seed 1, mod width
//	          └ 3     └ 4          the count is 3
//
// A TopK has rows of cells, each owned by the fingerprint of one item, and a
// heap of the k items with the largest counts. An item that meets a cell of
// another takes from its count with a chance that falls with the count: large
// ones stay, small ones make way. Neither counts nor the list are bounded by
// theory; [TopK] states what holds.
//
// A TDigest has nodes, each the mean and the weight of neighbouring values:
// small nodes near the smallest and the largest value, large ones in the middle.
// It bounds its memory and keeps the two ends exact; accuracy in between is
// experience.
//
//	weight  1 1 2 4   9     16      17     8   4 2 1 1
//	mean    ├─┼─┼──┼────┼─────────┼─────────┼─────┼──┼─┼─┤
//	       min                                          max
//
// Hashes of sketches have no secret: adversarial items can be made to collide.
//
// # Digests
//
// Bloom and Cuckoo take keys as digests only: [Digest], 16 bytes, for a Bloom;
// uint64 for a Cuckoo; a CountMin by [AppendCountMinHashes]. They can be computed
// outside of locks and kept in logs. A TopK keeps items whole. All writes are
// functions of the filter and of their arguments: no clock, no result that
// differs between machines. The chances of a TopK come from a generator in the
// sketch.
//
// # Memory
//
// What New would allocate is known before: see the Bytes methods of parameters,
// headers and dumps. Sketches do not grow, but for the items of a TopK. Filters
// do, some of them by large factors. Batches of digests take the
// number of bytes that growth may need as an argument, and stop with memory.ErrRoom
// where that is too little; single keys may take what memory there is. Both
// fail with an error that wraps bloomery.ErrTooLarge, and change nothing,
// before the Go runtime would end the process.
//
// A memory.Arena places all arrays of a filter outside of the Go heap and gets them
// back when the filter is released, shrinks or is replaced:
//
//	m, mapped := memory.NewArena()
//	b, err := redisbloom.NewBloom(redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 1e9, Expansion: 2, Memory: m})
//	…
//	b.Release() // Free gets every array, those of an open snapshot at its Close
//
// [Frozen] is a snapshot of a filter that goes on changing; [Loader] puts it
// together again.
package redisbloom
