// Package bloom has the filters that are made of bits: a key sets a few bits
// of an array, and is in the set if all of them are set.
//
//	f := bloom.New(1_000_000, 0.01) // a million keys, 1% false positives
//	f.AddString("alice")
//	f.ContainsString("alice") // true, always
//	f.ContainsString("bob")   // false, or true with probability 1%
//
// For a known number of keys:
//
//   - [Filter] keeps all bits of a key in one cache line. A lookup costs one
//     memory access, whatever the size. It takes 9.93 bits per key at 1% and
//     goes down to 1e-6. This is the one to use.
//   - [Standard] is the textbook layout: bits anywhere. It takes 9.59 bits per
//     key at 1% and is clearly smaller below 1e-4, but each lookup costs
//     several memory accesses.
//   - [Split] is the layout of Parquet files, for exchange with them. It costs
//     one memory access and takes 10.53 bits per key at 1%.
//   - [Partitioned] is Standard with the array cut into one slice per bit of a
//     key.
//
// For a number of keys that is not known there is [Scalable], which grows by
// layers.
//
// All keep the false positive rate they are asked for: arrays are sized by the
// rate that the layout really has, whole numbers and small sizes included. All
// can be united, counted, written and read; all but Scalable can be intersected and
// compared.
//
// # Many goroutines, many filters
//
// [Concurrent] is a Filter for many goroutines. [Sliced] is up to 1,024
// Standards that are asked together which of them may hold a key, at about the
// cost of one.
//
// # Growing past the capacity
//
// Nothing breaks when more keys are added than the filter was made for; the
// false positive rate rises. Stats shows the present rate. Only Scalable keeps
// it.
//
// # When to choose another family
//
// Keys cannot be removed from these filters. Sets that are known in advance and
// never change need a third less in a static filter.
package bloom
