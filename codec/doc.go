// Package codec opens, moves and compares filters of every kind. It is the one
// package that imports all families: code that does not care which filter it
// has, a server or a tool, starts here.
//
//	f, err := codec.Open(data)                   // of whatever kind
//	info, err := codec.Inspect(file)             // what is it, is it sound?
//	small, err := codec.Compress(nil, data)      // for the network
//	patch, err := codec.Diff(yesterday, today)   // for programs that have yesterday's
//
// [Kinds] is the table of all kinds: what they are called, what they can do,
// how they are made and read.
//
// # The transport form
//
// A filter that is half full looks like random bits and cannot be compressed.
// One that is emptier, or fuller, can. The transport form takes each 64 KiB of
// the payload in the shortest of three forms: as they are; as gaps between set
// (or clear) bits in Golomb–Rice code, which comes within 4% of the entropy of
// independent bits; or as runs of equal words.
//
//	fill     1%     5%     10%    20%    30%    40% to 60%
//	bytes    0.08   0.29   0.48   0.73   0.89   1.00
//
// Filters that are made for the network can be made emptier on purpose:
// sizing.Layout.SmallestTransport chooses such sizes. [Compress] and
// [Decompress] work in memory; [Writer] and [Reader] need the same small memory
// for every size. docs/format.md has the bytes.
//
// Package codec/file keeps filters in files.
package codec
