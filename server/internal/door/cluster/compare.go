package cluster

// Nodes compare what they hold.

import (
	"cmp"
	"encoding/binary"
	"fmt"
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

// partSum is the sum of a part at a version, which is how often it has changed.
type partSum struct{ part, version, sum uint64 }

// maxSums bounds the sums of a beat: they take 20 bytes each, about.
const maxSums = 64

func appendSums(b []byte, sums []partSum) []byte {
	b = binary.AppendUvarint(b, uint64(len(sums)))
	for _, s := range sums {
		b = binary.AppendUvarint(b, s.part)
		b = binary.AppendUvarint(b, s.version)
		b = binary.LittleEndian.AppendUint64(b, s.sum)
	}
	return b
}

// parseSums reads sums.
func parseSums(c *wire.Reader) (sums []partSum) {
	n := c.Uvarint()
	c.Bad = c.Bad || n > maxSums
	for ; n > 0 && !c.Bad; n-- {
		sums = append(sums, partSum{c.Uvarint(), c.Uvarint(), c.Uint64()})
	}
	return sums
}

// compared is what a node knows of the sums of its parts, and where they differ from
// those of others.
//
// Safe for concurrent use.
type compared struct {
	// mu guards what follows.
	mu     sync.Mutex
	own    []partSum // in the order of parts
	next   int       // of own, for the next beat
	differ map[difference]string
}

// difference is a part, and the node that has another one.
type difference struct {
	part uint64
	node uint32
}

// keep takes the sums of a snapshot. Differences of parts that are gone are forgotten.
func (c *compared) keep(items []snapshot.Item) {
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
			c.own = append(c.own, partSum{it.ID, it.Version, it.Sum})
		}
	}
	slices.SortFunc(c.own, func(a, b partSum) int { return cmp.Compare(a.part, b.part) })
	maps.DeleteFunc(c.differ, func(d difference, _ string) bool { return !there[d.part] })
}

// some returns the sums that come next.
func (c *compared) some() []partSum {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next >= len(c.own) {
		c.next = 0
	}
	from := c.next
	c.next = min(from+maxSums, len(c.own))
	return slices.Clone(c.own[from:c.next])
}

// check compares a sum of another node. It reports whether that differs and did not
// before.
func (c *compared) check(node uint32, s partSum, text func() string) (found bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, ok := slices.BinarySearchFunc(c.own, s.part, func(v partSum, part uint64) int { return cmp.Compare(v.part, part) })
	if !ok || c.own[i].version != s.version {
		return false
	}
	d := difference{s.part, node}
	if c.own[i].sum == s.sum {
		delete(c.differ, d)
		return false
	}
	if _, known := c.differ[d]; known {
		return false
	}
	if c.differ == nil {
		c.differ = map[difference]string{}
	}
	c.differ[d] = text()
	return true
}

// problems returns what differs, a sentence each.
func (c *compared) problems() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Values(c.differ))
}

// compare compares the sums of a beat with those of this node.
func (d *Door) compare(v *beat) {
	for _, s := range v.sums {
		text := func() string {
			name := fmt.Sprintf("part %d", s.part)
			if e := d.state.Names.ByID(s.part); e != nil {
				name = fmt.Sprintf("filter %q", e.Name())
			}
			return fmt.Sprintf("%s differs from that of node %d, though both have had the same records: one of them is damaged", name, v.node)
		}
		if d.compared.check(v.node, s, text) {
			d.config.Slog.Error("this node and another one differ", "part", s.part, "node", v.node, "version", s.version)
		}
	}
}
