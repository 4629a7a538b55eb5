package heartbeat

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"sync"

	"github.com/bloomery/bloomery/server/internal/snapshot"
	"github.com/bloomery/bloomery/server/internal/wire"
)

// Parts that have had the same records are the same, byte for byte. After a snapshot
// each node knows sums of what it has written, and sends some of them with every beat.
// Two nodes that have another sum for the same version of a part differ: memory or a
// disk was damaged, or the program has a fault. Nobody can say which of them is right,
// so that is shown, and nothing is repaired.

// PartSum is the sum of a part at a version, which is how often it has changed.
type PartSum struct{ Part, Version, Sum uint64 }

// maxSums bounds the sums of a beat: they take 20 bytes each, about.
const maxSums = 64

func appendSums(b []byte, sums []PartSum) []byte {
	b = binary.AppendUvarint(b, uint64(len(sums)))
	for _, s := range sums {
		b = binary.AppendUvarint(b, s.Part)
		b = binary.AppendUvarint(b, s.Version)
		b = binary.LittleEndian.AppendUint64(b, s.Sum)
	}
	return b
}

// parseSums reads sums.
func parseSums(c *wire.Reader) (sums []PartSum) {
	n := c.Uvarint()
	c.Bad = c.Bad || n > maxSums
	for ; n > 0 && !c.Bad; n-- {
		sums = append(sums, PartSum{c.Uvarint(), c.Uvarint(), c.Uint64()})
	}
	return sums
}

// Compared is what a node knows of the sums of its parts, and where they differ from
// those of others.
//
// Safe for concurrent use.
type Compared struct {
	// mu guards what follows.
	mu     sync.Mutex
	own    []PartSum // in the order of parts
	next   int       // of own, for the next beat
	differ map[difference]string
}

// difference is a part, and the node that has another one.
type difference struct {
	part uint64
	node uint32
}

// Keep takes the sums of a snapshot. Differences of parts that are gone are forgotten.
func (c *Compared) Keep(items []snapshot.Item) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.own = c.own[:0]
	there := map[uint64]bool{}
	for i := range items {
		it := &items[i]
		if !it.InFile() {
			continue
		}
		there[it.ID] = true
		if it.Sum != 0 {
			c.own = append(c.own, PartSum{it.ID, it.Version, it.Sum})
		}
	}
	slices.SortFunc(c.own, func(a, b PartSum) int { return cmp.Compare(a.Part, b.Part) })
	maps.DeleteFunc(c.differ, func(d difference, _ string) bool { return !there[d.part] })
}

// Some returns the sums that come next.
func (c *Compared) Some() []PartSum {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next >= len(c.own) {
		c.next = 0
	}
	from := c.next
	c.next = min(from+maxSums, len(c.own))
	return slices.Clone(c.own[from:c.next])
}

// Check compares a sum of another node, and notes text if that differs.
func (c *Compared) Check(node uint32, s PartSum, text func() string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, ok := slices.BinarySearchFunc(c.own, s.Part, func(v PartSum, part uint64) int { return cmp.Compare(v.Part, part) })
	if !ok || c.own[i].Version != s.Version {
		return
	}
	d := difference{s.Part, node}
	if c.own[i].Sum == s.Sum {
		delete(c.differ, d)
		return
	}
	if _, known := c.differ[d]; known {
		return
	}
	if c.differ == nil {
		c.differ = map[difference]string{}
	}
	c.differ[d] = text()
}

// Problems returns what differs, a sentence each.
func (c *Compared) Problems() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Values(c.differ))
}
