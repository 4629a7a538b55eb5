// Package quotient has the filter for sets that change and grow: keys can be
// deleted, are counted, and the filter can be enlarged without them.
//
//	f := quotient.New(1_000_000, 0.01) // a million keys, 1% false positives
//	err := f.InsertString("alice")     // ErrFull if there is no room
//	f.ContainsString("alice")          // true, always
//	f.CountString("alice")             // 1, exact for its fingerprint
//	f.DeleteString("alice")            // true
//
// It takes (log2(1/p) + 2.1) / 0.95 bits per key, whatever p and the number of
// keys: 9.2 at 1%, 12.8 at 0.1%. A lookup reads one block of 32 to 64 slots, at
// times the next one, too. An insert moves slots: some 15 of them in a filter that
// is half full, some 200 at a load of 95%.
//
// # The layout
//
// A hash, as a fraction of 2^64, times the number of quotients is the quotient
// and, behind the point, the remainder. Both together are the fingerprint, all
// that is kept of a key.
//
//	block   [offset][occupied][ends     ][remainders               ]
//	         8 bits  64 bits   s bits     s slots of r bits
//
//	occupied   . 1 . . 1 1 . .   quotients 1, 4 and 5 have runs
//	ends       1 . 1 1           which end in slots 0, 2 and 3
//	slots      a b c d           a is of 1, b and c of 4, d of 5
//
// The runs of a block follow each other from its first slot on. If they are too
// long they go on in the next block, whose offset is the number of slots. The
// slots of a block are 32 to 64 for 64 quotients: with fewer slots a
// fingerprint has a fraction of a bit more than the remainder, so that rates
// between powers of two waste nothing. Equal fingerprints are counted in the
// order of a run, see the file format.
//
// # Growing
//
// Resize makes a filter larger without its keys. Each doubling makes a bit of
// the remainder one of the quotient: the rate with the keys that are there
// stays, and twice the keys give twice the rate. Config.Doublings puts these
// bits in at the start. Merge puts the keys of two filters together, and All
// returns all of them, as hashes that stand for the keys.
//
// # Growing without end
//
// A [Growing] is for sets of unknown size. It lies in segments, each the table of
// the keys whose hashes begin with a prefix; a directory finds it by the first
// bits of a hash.
//
//	hash        [prefix  ][quotient     ][fingerprint      ] ...
//	             e bits    up to 14 bits  l bits, of a new key
//
//	directory   [00] [01] [10] [11]          2^max(e) entries
//	              |    |    |____|
//	              v    v       v
//	segments     [00] [01]    [1 ]           tables of up to 256 blocks
//
//	slot        [bits of the fingerprint][1][0 ...]   w = l + 1 bits
//	            [1][0 ...                         ]   void: no bits are left
//
// A segment that is full gets more slots in its blocks, in three steps, and then
// doubles: while it is small in place, then into two. A doubling makes the first
// bit of every fingerprint the last one of its address. Slots keep their order, a
// new key gets l bits again, and a lookup compares as many bits as a slot has.
// What has no bits left is void, stands in every quotient that it covers, and is
// counted in a list of its own, which a lookup does not read. A key adds
// 2^-(bits of address and fingerprint when it was inserted) to the rate for ever: with the
// same l in every generation each has the same share of the rate, and 40
// doublings keep the rate asked.
//
// # When to choose another family
//
// A cuckoo filter answers faster, but cannot grow, be merged, or count more
// than 8 of a key. Sets that only grow take less time in package bloom, and sets
// that never change less memory in a static filter.
package quotient
