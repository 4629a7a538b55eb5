// Package placement decides which nodes of a cluster are to hold which contents.
//
// Contents are divided into [Shards] shards: [Base] and [Shard] say in which one a part
// of a filter lies, and [Target] says which nodes are to hold each. All of it is a pure
// function of what is passed, in whole numbers: every node computes the same, on every
// machine.
package placement

import "strings"

// Slots is how many slots Redis Cluster has, and Shards how many shards contents are
// divided into.
const (
	Slots  = 16384
	Shards = 1024
)

// Slot returns the slot of a key as Redis Cluster does: of what is between the first {
// and the next }, if that is something, else of all of it.
func Slot(key string) int {
	if _, rest, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(rest, "}"); ok && tag != "" {
			key = tag
		}
	}
	sum := uint16(0)
	for i := range len(key) {
		sum ^= uint16(key[i]) << 8
		for range 8 {
			if sum&0x8000 != 0 {
				sum = sum<<1 ^ 0x1021
			} else {
				sum <<= 1
			}
		}
	}
	return int(sum) % Slots
}

// Base returns the shard of the first part of a filter that is made under a name.
// Filters with the same {hash tag} have the same.
func Base(name string) int { return Slot(name) / (Slots / Shards) }

// BaseOf returns the shard of the first part of a filter by its id: of one that was made
// before names decided that.
func BaseOf(id uint64) int { return int(mix(id) % Shards) }

// Shard returns the shard of a part of a filter with such a base. A filter of up to
// [Shards] parts has each of them in a shard of its own.
func Shard(base int, index uint32) int { return int((uint32(base) + index) % Shards) }
