// Package counting has the filters that are made of counters: each bit of a
// Bloom filter has a counter beside it, the number of keys that have set it.
//
//	f := counting.New(1_000_000, 0.01) // a million keys, 1% false positives
//	_ = f.InsertString("alice")        // an error only if alice is there 16 times
//	f.CountString("alice")             // 1, or more with probability 1%
//	f.DeleteString("alice")            // true
//	f.ContainsString("alice")          // false, or true with probability 1%
//
// There are three kinds:
//
//   - [Filter] is a set that keys can be deleted from. It takes 49.7 bits per
//     key at 1%: 9.93 bits and as many counters of 4.
//   - [Spectral] counts how often keys came, exactly for nearly all frequent ones.
//   - [Stable] remembers the last keys of an endless stream and keeps its false
//     positive rate for ever.
//
// # Layout
//
// The bits are those of bloom.Filter, blocks of one cache line. The counters
// follow behind all bits: those of a block lie in planes, one for each bit of a
// counter.
//
//	bits      [ 512 bits ][ 512 bits ] ...                       a lookup ends here
//	             |
//	counters  [ plane 0 ][ plane 1 ][ plane 2 ][ plane 3 ] ...   for each block
//	            bit 0 of all 512 counters
//
// A clear bit is a count of 0, and a set bit with the counter c one of c + 1: a
// counter begins to count with the second key of its bit, and one of w bits
// counts to 2^w. So a lookup costs one memory access, in batches by SIMD, as
// with bloom.Filter. An insert adds in plane 0 and seldom carries past plane 1;
// a delete or a count reads all planes.
//
// The counters of a Spectral lie side by side, see there.
//
// # When to choose another family
//
// Keys that are never removed need a fifth of the memory in package bloom.
// Where deletes are all that is needed, and inserts may fail with ErrFull, a
// cuckoo or a quotient filter takes a fifth, too. For keys that expire by time,
// not by number, take a compose.Window.
package counting
