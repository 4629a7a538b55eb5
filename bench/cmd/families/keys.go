package main

import (
	"encoding/binary"

	"github.com/bloomery/bloomery/bench/internal/timing"
)

// The kinds of keys; each has numbers of its own.
const (
	present = 1
	absent  = 2
)

// someKeys is the most keys of a list that lookups take their keys from.
const someKeys = 4 << 20

// hashesOf returns n hashes of a kind.
func hashesOf(kind uint64, n int) []uint64 {
	hs := make([]uint64, n)
	for i := range hs {
		hs[i] = timing.Scramble(kind<<40 + uint64(i))
	}
	return hs
}

// keysOf returns n keys of 8 bytes of a kind, one after the other in memory.
func keysOf(kind uint64, n int) [][]byte {
	room := make([]byte, 8*n)
	keys := make([][]byte, n)
	for i := range keys {
		keys[i] = room[8*i : 8*i+8 : 8*i+8]
		binary.LittleEndian.PutUint64(keys[i], timing.Scramble(kind<<40+uint64(i)))
	}
	return keys
}

// pack returns copies of keys that lie one after the other in memory, so that
// reading them costs the same as reading others.
func pack(keys [][]byte) [][]byte {
	room := make([]byte, 0, 8*len(keys))
	packed := make([][]byte, len(keys))
	for i, key := range keys {
		room = append(room, key...)
		packed[i] = room[8*i : 8*i+8 : 8*i+8]
	}
	return packed
}

// spread returns some of the elements of list, from all over it, in no order
// that a filter could know.
func spread[K any](list []K) []K {
	n := min(len(list), someKeys)
	some := make([]K, n)
	for i := range some {
		some[i] = list[timing.Scramble(uint64(i))%uint64(len(list))]
	}
	return some
}

// lookups times a lookup with keys that are there and with others.
func lookups[K any](b *bench, who, what string, pass int, there, others []K, do func(dst []bool, keys []K)) {
	b.time(who, what+", hits", timing.Over(there, pass, do))
	b.time(who, what+", misses", timing.Over(others, pass, do))
}

// What lookups and inserts are called in tables.
const (
	single = "ns per lookup"
	batch  = "ns per lookup in a batch"
	insert = "ns per insert"
	// keysLost is 0 in a comparison that is fair.
	keysLost = "keys lost"
	rate     = "error in %"
	bits     = "bits per key"
)

// each makes a loop of single calls.
func each[K any](has func(K) bool) func(dst []bool, keys []K) {
	return func(dst []bool, keys []K) {
		for i, key := range keys {
			dst[i] = has(key)
		}
	}
}

// errorOf returns the share of absent keys that get a yes, in percent.
func errorOf[K any](others []K, has func(dst []bool, keys []K)) float64 {
	dst := make([]bool, len(others))
	has(dst, others)
	return 100 * float64(trues(dst)) / float64(len(others))
}

// lost returns how many keys of a list get a no.
func lost[K any](list []K, has func(dst []bool, keys []K)) int {
	dst := make([]bool, len(list))
	has(dst, list)
	return len(list) - trues(dst)
}

func trues(dst []bool) (n int) {
	for _, yes := range dst {
		if yes {
			n++
		}
	}
	return n
}
