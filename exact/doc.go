// Package exact has a static filter that makes no error on a known universe: the
// keys that are in, such as revoked certificates or blocked addresses, and the
// keys that are out, all others that exist or those that must never be blocked.
//
//	f, err := exact.Build(revoked, valid) // hashes of the keys
//	f.ContainsString("a revoked one")     // true
//	f.ContainsString("a valid one")       // false, always
//	f.ContainsString("one in neither")    // false with probability 1 - f.Stats().Predicted
//
// With n keys in of N in all it takes 6% to 10% more than log2 C(N, n) bits,
// which any such structure needs: 8.6 bits for each key that is in at a share of
// 1%, 5.2 at 10%. What is out costs little, and is not kept.
//
// # How it works
//
// A ribbon filter holds the keys that are in, at a rate p at which the second
// stage is as small as it can be: about 1.44 n of the keys that are out pass it.
// The second stage is a ribbon map of one bit for each key that passes: 1 if it
// is in, 0 if it is out.
//
//	key ─► filter of rate 2^-r ─no─► out
//	          │ yes
//	          ▼
//	       one bit: in or out
//
// Keys may be in groups, by issuer or by day, see [Config.BuildGroups]. Each group
// has a rate of its own, chosen from its sizes: a group without keys that are in
// takes no space, nor does one without keys that are out. Groups of one rate share
// a filter, and all groups share the second stage, so that there may be thousands
// of small ones.
//
// The filter follows from the hashes alone: not from their order, nor from the
// number of goroutines.
//
// # When to choose another family
//
// Where the keys that are asked for are not known when the filter is built, there
// is nothing to be exact about: package ribbon has the rate that was asked for in
// less space, and package fuse is faster. A set that changes by the minute needs
// one that takes keys, as package bloom has.
package exact
