package main

import (
	"encoding/binary"
	"fmt"

	"github.com/bloomery/bloomery/bench/internal/timing"
)

// parts is how many passes go by before keys come again, where the array is
// large enough for so many keys.
const parts = 8

// randomize fills an array with random bits: half of them are set.
func randomize(words []uint64) {
	for i := range words {
		words[i] = timing.Scramble(uint64(i))
	}
}

// pools are the keys of a section.
type pools[K any] struct{ hits, misses, adds []K }

// fewEnough returns how many keys may be added to a half-full array of so
// many bytes without making it much fuller: one for every 256 bits, and no
// more than the passes need.
func fewEnough(o options, bytes int) int { return min(parts*o.pass(), bytes*8/256) }

// newPools makes keys from numbers: those that are there, those that are not,
// and those to be added.
func newPools[K any](o options, bytes int, key func(i uint64) K) pools[K] {
	list := func(kind uint64, n int) []K {
		keys := make([]K, n)
		for i := range keys {
			keys[i] = key(kind<<40 + uint64(i))
		}
		return keys
	}
	few := fewEnough(o, bytes)
	return pools[K]{list(1, few), list(2, parts*o.pass()), list(3, few)}
}

// of returns the keys for a kind.
func (p pools[K]) of(kind string) []K {
	switch kind {
	case hits:
		return p.hits
	case misses:
		return p.misses
	}
	return p.adds
}

// text returns keys of n bytes that lie one after the other in memory, as
// they would after a file was read.
func text(n int) func(i uint64) []byte {
	var room []byte
	return func(i uint64) []byte {
		if len(room) < n {
			room = make([]byte, 1<<20)
		}
		key := room[:n:n]
		room = room[n:]
		if n == 8 {
			binary.LittleEndian.PutUint64(key, timing.Scramble(i))
			return key
		}
		return fmt.Appendf(key[:0], "user:%0*d", n-len("user:"), i)
	}
}
