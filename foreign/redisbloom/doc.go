// Package redisbloom reads, queries, changes and writes the filters and sketches of
// RedisBloom, bit for bit: [Bloom] is its BF, [Cuckoo] its CF, [CountMin] its CMS, [TopK]
// its TOPK and [TDigest] its TDIGEST. The same items in the same order give the same
// answers and the same dumps, so that dumps can be moved in both directions. A program
// that has no dumps to exchange does better with package bloom or cuckoo, and with
// package counting for frequencies.
//
//	question                             type       error of an answer
//	was it added?                        Bloom      false positive
//	is it there? delete it               Cuckoo     false positive
//	how often did it occur?              CountMin   count too high
//	which occurred most often?           TopK       count too low, item missing
//	which value has half of all below?   TDigest    rank slightly off
//
// What DUMP answers is the binary form of all five: [Open] takes it whatever the kind,
// UnmarshalBinary of a type if that is known, and RESTORE takes what MarshalBinary
// returns. Filters have a second form, the chunks of BF.SCANDUMP and CF.SCANDUMP:
// [LoadBloom] and [LoadCuckoo] read them, Chunks yields them, which turns one form into
// the other.
//
//	v, err := redisbloom.Open(dump) // the bytes of DUMP users
//	if err != nil {
//		return err
//	}
//	users, ok := v.(*redisbloom.Bloom)
//	found := ok && users.Contains([]byte("alice"))
//
// Hashes of RedisBloom have no secret: whoever chooses the items can make them collide.
// Any number of goroutines may query a value at the same time, except a TDigest, which
// queries may change. While one changes a value, no other may use it.
package redisbloom
