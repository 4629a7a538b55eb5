package sizing

import (
	"fmt"
	"math"
)

// The models of exact sets. The tests hold that of the Go map to the heap and
// that of the Redis set to figures of a server, within 25%.
const (
	// A group of Go's map[string]struct{} is a word of 8 control bytes and 8
	// slots of 24 bytes: a string header, and a word because a struct must not
	// end with a field of size 0. At most 7 of 8 slots are used, and a table of
	// 1024 slots splits in two (internal/runtime/maps, Go 1.24 to 1.26). The
	// allocator rounds the 25,600 bytes of a table up to 27,264.
	mapGroup, mapSlots, mapTable = 8 + 8*24, 8, 1024
	mapRounding                  = 27264.0 / 25600
	mapFull                      = mapTable * 7 / 8

	// An entry of a Redis 7.0 hash table has 24 bytes, which the allocator of
	// Debian's server rounds up to 32, as it does the string to 16. The
	// table has 8 bytes for each bucket, of which there are 2^i.
	redisEntry, redisBucket, redisRounding = 32, 8, 16
)

// exactChoices are the sets without error that a filter is compared with. They
// hold the keys themselves.
func (q Needs) exactChoices() []Choice {
	n, keyBytes := float64(q.keys()), float64(q.KeyBytes)
	steps := max(int(math.Ceil(math.Log2(n+1))), 1)
	sorted := sortedBytes(n, keyBytes)
	all := []Choice{
		{
			Name: "go map", Make: "map[string]struct{}", Lookup: 3, Insert: 3,
			BitsPerKey: 8 * mapBytes(n, keyBytes) / n,
			Reasons:    []string{"exact; keys can be deleted and listed; one writer"},
		},
		{
			Name: "sorted array", Make: "slices.BinarySearch", Lookup: steps, Insert: steps + shifted(sorted),
			BitsPerKey: 8 * sorted / n,
			Reasons:    []string{"exact; keys back to back with an offset each; an insertion moves half of it"},
		},
		{
			Name: "redis set", Make: "SADD", Lookup: 3, Insert: 3,
			BitsPerKey: 8 * redisBytes(n, keyBytes) / n,
			Reasons:    []string{"exact; shared by many programs; each query is a round trip, unless pipelined"},
		},
	}
	for i := range all {
		all[i].Keys = q.Capacity
		if q.Keys > 0 {
			all[i].Bytes = uint64(math.Ceil(min(all[i].BitsPerKey/8*n*float64(q.Sets), 1<<63)))
		}
		if q.Sets > 1 {
			all[i].Lookup *= q.Sets
		}
		if q.Memory > 0 && all[i].Bytes > q.Memory {
			all[i].Reasons = append(all[i].Reasons, fmt.Sprintf("does not fit into %s", size(q.Memory)))
		}
	}
	return all
}

// mapBytes is the heap of a Go map that has grown to n strings, each with
// bytes of its own.
func mapBytes(n, keyBytes float64) float64 {
	return 48 + mapArray(n) + n*allocated(keyBytes)
}

// mapArray is the size of the map's tables. Small maps double; larger ones
// split table by table, and tables of the same age fill at the same pace with a
// spread of the square root of their keys.
func mapArray(n float64) float64 {
	if n <= mapFull {
		slots := float64(mapSlots)
		for n > mapSlots && slots*7/8 < n {
			slots *= 2
		}
		return slots / mapSlots * mapGroup * mapRounding
	}
	tables := math.Exp2(math.Floor(math.Log2(n / (mapFull * 3 / 4))))
	each := n / tables
	split := 0.5 * math.Erfc((mapFull-each)/math.Sqrt(2*each))
	return tables * (1 + split) * mapTable / mapSlots * mapGroup * mapRounding
}

// allocated is what Go's allocator takes for that many bytes without pointers:
// several below 16 share a block, and classes are about an eighth apart.
func allocated(b float64) float64 {
	switch {
	case b <= 0:
		return 0
	case b < 16:
		return 16 / math.Floor(16/b)
	case b <= 32:
		return math.Ceil(b/8) * 8
	case b <= 256:
		return math.Ceil(b/16) * 16
	}
	return b * 1.06
}

// sortedBytes is a sorted array of keys back to back, with an offset for each.
func sortedBytes(n, keyBytes float64) float64 {
	offset := 4.0
	if n*keyBytes > math.MaxUint32 {
		offset = 8
	}
	return n * (keyBytes + offset)
}

// shifted is the cache lines that an insertion into an array moves.
func shifted(bytes float64) int { return int(min(bytes/2/64, 1<<30)) }

// redisBytes is a set of Redis as a hash table: an entry and a string for each
// key, the string with a header of 1 byte, or 3 from 32 bytes on, and a zero.
func redisBytes(n, keyBytes float64) float64 {
	text := keyBytes + 2
	if keyBytes >= 32 {
		text = keyBytes + 4
	}
	buckets := max(math.Exp2(math.Ceil(math.Log2(n))), 4)
	return n*(redisEntry+math.Ceil(text/redisRounding)*redisRounding) + buckets*redisBucket
}
