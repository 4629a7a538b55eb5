package effort

// Filters and sketches of RedisBloom.

import (
	"iter"

	"github.com/bloomery/bloomery/internal/redisbloom"
)

// layers adds the layers that a BF will have, and what items count for that are written to them.
func (s *Size) layers(layers iter.Seq[redisbloom.Layer], a Adding, written func(bytes uint64, a Adding, places uint64) uint64) {
	for l := range layers {
		s.array(l.Bytes, uint64(l.Hashes))
		if s.Grown = add(s.Grown, arrayBytes+written(l.Bytes, a, uint64(l.Hashes))); a.Enough(s) {
			return
		}
	}
}

// Bloom is the size of a BF.
func Bloom(b *redisbloom.Bloom, a Adding) (s Size) {
	for i := range b.Layers() {
		l := b.Layer(i)
		s.array(l.Bytes, uint64(l.Hashes))
	}
	s.layers(b.Grown(a.Items), a, Written)
	return s
}

// NewBloom is the size of a BF that will have these layers.
func NewBloom(layers iter.Seq[redisbloom.Layer], a Adding) (s Size) {
	s.layers(layers, a, Made)
	return s
}

// Cuckoo is the size of a CF. It takes into account that equal items, or such as are
// chosen for it, fill their buckets and make the filter grow each time, that items are
// moved when it is nearly full, and that deletes compact it.
func Cuckoo(c redisbloom.CuckooShape, a Adding) (s Size) {
	bucket := uint64(c.BucketSize)
	if c.Filters == 0 || bucket == 0 {
		return s
	}
	grown := uint64(0)
	if c.Expansion > 0 && a.Items > 0 {
		grown = min(uint64(a.Items)/(2*bucket)+1, max(a.Filters, c.Filters)-c.Filters)
	}
	newest, fresh := c.Newest, uint64(0)
	lines := 2 * (bucket/64 + 1)
	s = Size{Bytes: c.Slots, Arrays: c.Filters, Item: lines * lineIn(c.Slots) * min(c.Filters, 64)}
	s.Item = add(s.Item, lines*near*(c.Filters-min(c.Filters, 64)))
	s.Look = min(c.Slots, c.Filters*lookBytes) + c.Filters*describedBytes
	for range grown {
		newest = min(newest*uint64(max(c.Expansion, 1)), mostSize)
		s.Bytes, s.Arrays, fresh = add(s.Bytes, newest), s.Arrays+1, add(fresh, newest)
		s.Item += lines * near
		s.Look += min(newest, lookBytes) + describedBytes
		s.Grown = add(s.Grown, arrayBytes+min(newest, mappedBytes)/4)
	}
	moves, full := 2*uint64(c.MaxIterations), c.Items+uint64(a.Items) > c.Newest*4/5
	switch { // those that fail are taken back; the more there are, the less stays in the caches
	case c.MaxIterations > usualIterations:
		moves *= 9
	case c.Expansion == 0:
		moves *= 4
	}
	// Items that are alike may make even an empty one grow again and again, and each of the others lies in a new array.
	s.Grown = add(s.Grown, cleared(fresh, uint64(a.Items), 1, smallPage)+sought(fresh, uint64(a.Seeks), 2*grown))
	switch {
	case a.Items == 0:
	case full || c.Expansion == 0 || c.MaxIterations > usualIterations: // a dump may say that it has few items
		s.Item = add(s.Item, moves*lineIn(c.Newest))
	default:
		s.Item += 4 * lineIn(c.Newest)
		s.Grown = add(s.Grown, grown*moves*near)
	}
	if a.Deletes > 0 && s.Arrays > 1 {
		s.Grown = add(s.Grown, uint64(a.Deletes)*counted(c, a, s.Bytes)+compactions(c.Items, a)*min(maxCompact, redisbloom.CompactSteps(min(c.Newest, maxCompact), s.Arrays, c.BucketSize))*stepBytes)
	}
	return s
}

// counted is what a delete counts for that has the slots of a CF counted which are in use: its header says that it
// has few items, so that compacting it takes few steps.
func counted(c redisbloom.CuckooShape, a Adding, slots uint64) uint64 {
	const perByte = 4 // of slots
	stay := c.Items - min(c.Items, uint64(a.Deletes))
	if c.Newest/16+min(stay, c.Newest)*(c.Filters-1) > maxCompact {
		return 0
	}
	return min(slots, 16*maxCompact) / perByte
}

// mappedBytes is a size beyond which making an array takes no more time.
const mappedBytes = 2 << 20

// usualIterations is how many moves RedisBloom makes unless it is told another number.
const usualIterations = 20

const (
	// maxCompact is how many steps of a compaction a delete does itself, stepBytes what
	// each of them counts for.
	maxCompact = 16 << 10
	stepBytes  = 16
)

// compactions is how often deletes compact a filter of so many items: whenever a tenth of those is
// gone that it has then, and when hardly any is left, after a few.
func compactions(items uint64, a Adding) uint64 {
	const tenths = 200 // until the largest filter is empty
	deletes := uint64(a.Deletes)
	if deletes < items { // so many stay at any time
		return min(deletes, tenths, 1+10*deletes/(items-deletes))
	}
	return min(deletes, tenths+uint64(a.Deletes+a.Items)/8)
}

// CountMin is the size of a CMS.
func CountMin(bytes, depth uint64) Size {
	const hash = 24
	return Size{Bytes: bytes, Item: depth * (lineIn(bytes) + hash), Look: arrayBytes / 16, Arrays: 1, Rows: depth}
}

// TopK is the size of a TOPK. It takes into account that an item is looked for in all slots, and that they
// are sorted to be listed.
func TopK(bytes, k, depth uint64) Size {
	const slot, hash, sorted = 8, 72, 768
	return Size{
		Bytes: bytes, Item: add(depth*(lineIn(bytes)+hash), k*slot), Look: add(k*sorted, lookBytes), Arrays: 1, Rows: depth,
	}
}

// sortedDigest is how much more sorting the values of a digest takes than passing over
// them.
const sortedDigest = 8

// TDigest is the size of a TDIGEST: that of an item that is added; the answer to a question passes over all
// centroids.
func TDigest(bytes uint64, a Adding) Size {
	const value = 256
	s := Size{Bytes: bytes, Item: value, Look: arrayBytes / 16, Arrays: 1}
	if a.Items > 0 {
		s.Grown = add(sortedDigest*bytes, 0)
	}
	return s
}
