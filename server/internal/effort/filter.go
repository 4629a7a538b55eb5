package effort

// Filters of package codec.

import (
	"math/bits"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/cuckoo"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/quotient"
	"github.com/bloomery/bloomery/sizing"
)

// linesOfItem is how many lines of a layer, generation or member an item touches.
const linesOfItem = 16

// Filter is the size of a part of so many bytes and layers, which grows by so much.
func Filter(f bloomery.Hashed, bytes, layers, grown uint64, a Adding) (s Size) {
	item, need := layers*linesIn(f)*lineIn(bytes), uint64(0)
	switch f := f.(type) {
	case *compose.Quorum:
		need = uint64(f.Need())
	case *quotient.Growing: // it consists of very many small arrays, which are put together to be visited
		layers += bytes / growingArray
	}
	s = ofLayers(bytes, layers, need)
	lookup, change := Reach(f, a.Hashes)
	s.Item, s.Change = add(item, lookup*reachBytes), change*reachBytes
	grows, _ := f.(*quotient.Growing)
	if grows != nil {
		s.Change += segmentBytes
	}
	if a.Items > 0 {
		s.Bytes, s.Grown = add(s.Bytes, grown), growthBytes+Written(grown, a, linesIn(f))
		if grows != nil {
			s.Grown = add(s.Grown, uint64(grows.GrowSegments(a.Items))*grownBytes)
		}
		if f, ok := f.(*bloom.Scalable); ok {
			s.Grown = add(s.Grown, uint64(f.GrowLayers(a.Items, a.Before))*layerSizeBytes)
		}
		each, all := searched(f, a)
		s.Change, s.Search = add(s.Change, each), all
	}
	return s
}

const (
	// growingArray is how much of a growing filter counts as an array.
	growingArray = 256
	// growthBytes is what it takes to find out how a part would grow.
	growthBytes = 1 << 10
	// layerSizeBytes is what it takes to find out how large a layer of a scalable filter is:
	// for its cost, for its memory, and when it is made.
	layerSizeBytes = 128 << 10
	// segmentBytes is what it takes to copy a segment of a growing filter that a fork has, too.
	segmentBytes = 24 << 10
	// grownBytes is what it takes to have one grow.
	grownBytes = 768 << 10
	// reachBytes is what a step through the slots of a quotient filter counts for.
	reachBytes = 16
)

// ofLayers is the size of a part of so many layers, without items. Of a quorum, need is how
// many members must agree: its rate follows from those of all of them.
func ofLayers(bytes, layers, need uint64) Size {
	const (
		sampled                  = 4 << 20 // of a large array, to estimate how full it is
		described, coded, agreed = 4 << 10, 4 << 10, 16
	)
	return Size{
		Bytes: add(bytes, layers*coded), Arrays: layers,
		Look: add(min(4*bytes, layers*sampled), layers*(described+need*agreed)),
	}
}

// linesIn is how many lines an item touches in each layer of a filter.
func linesIn(f bloomery.Hashed) uint64 {
	switch f := f.(type) {
	case *bloom.Standard:
		return max(linesOfItem, uint64(f.Shape().K))
	case *bloom.Partitioned:
		return max(linesOfItem, uint64(f.Shape().K))
	}
	return linesOfItem
}

// searched is what the search for room takes in a cuckoo filter, or in those that a filter
// consists of: for each item, and for all items that search far.
func searched(f bloomery.Hashed, a Adding) (each, all uint64) {
	EachMember(f, func(m bloomery.Hashed) {
		c, ok := m.(*cuckoo.Filter)
		if !ok {
			return
		}
		one, far := searches(c.Shape(), c.Stats().Items, a)
		each, all = add(each, one), add(all, far)
	})
	return each, all
}

// searches is searched for a cuckoo filter with so many items. All of them may search through
// some buckets. Those that come when the filter is nearly full, and those whose hashes a client may
// have chosen for buckets that are full, search through thousands.
func searches(shape sizing.Cuckoo, taken uint64, a Adding) (each, all uint64) {
	const (
		visited, passed   = 170, 6      // buckets of a short search, and what each takes
		farther, compared = 2 << 10, 16 // of a long one, besides their lines
	)
	items, before := uint64(a.Items), shape.NearlyFull()
	items -= min(items, before-min(before, taken))
	items = max(items, uint64(a.Hashes))
	line := compared + lineIn(shape.Bits()/8)
	return visited * passed, items * farther * line
}

// New is what is known of a filter that a record makes.
type New struct {
	Kind    string
	Outline []byte // of each part
	Bytes   uint64 // of all parts
	Parts   uint64
}

// Size is the size of a part: one of several members or generations has as many as there
// may be.
func (n New) Size(a Adding) Size {
	const most, item, mostLines = 256, 64, 64
	layers, lines := uint64(1), uint64(linesOfItem)
	grown, change, search := item*uint64(a.Items), uint64(0), uint64(0)
	places := uint64(linesOfItem)
	switch n.Kind {
	case "bloom":
		places = 1
	case "cuckoo":
		places = 2
		head, _ := envelope.ParseHeader(n.Outline) // K is the bits of a slot
		shape := sizing.Cuckoo{Buckets: head.Size / (sizing.CuckooSlots * uint64(max(head.K, 1))), Width: int(head.K)}
		change, search = searches(shape, 0, a)
	case "quotient":
		change = newReach * reachBytes
	case "growing":
		change = newGrowingReach * reachBytes
	case "scalable":
		grown += uint64(bits.Len64(uint64(a.Items))) * layerSizeBytes
	case "window":
		layers = most
	case "quorum":
		layers, places = most, most*linesOfItem
	case "standard", "partitioned":
		lines = mostLines
	}
	grown = add(grown, Made(n.Bytes, a, places))
	s := ofLayers(n.Bytes/n.Parts, layers, layers)
	s.Bytes, s.Arrays = n.Bytes+layers*n.Parts*arrayBytes, layers*n.Parts
	s.Item, s.Grown = layers*lines*lineIn(n.Bytes), grown
	s.Change, s.Search = change, search
	return s
}
