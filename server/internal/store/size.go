package store

// How much the work on contents touches.

import (
	"iter"
	"math"
	mathbits "math/bits"

	"github.com/bloomery/bloomery"
	bits "github.com/bloomery/bloomery/bloom"
	composed "github.com/bloomery/bloomery/compose"
	cuckoofilter "github.com/bloomery/bloomery/cuckoo"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/quotient"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/sizing"
)

// Size is how many bytes the work on a name touches, from which the cost of commands
// follows. Bytes that are passed over one after the other count once. A processor waits
// for a cache line somewhere in a large array: it counts for Line of them.
type Size struct {
	Bytes  uint64 // everything
	Item   uint64 // one item, asked for or added
	Change uint64 // what one that is added or deleted takes besides
	Search uint64 // what all that are added take to find room, at most
	Look   uint64 // what describes it: arrays of some parts, and samples of what is in them
	Arrays uint64 // the number of arrays
	Parts  uint64 // the number of parts
	Grown  uint64 // what adding items may allocate or rearrange
	Rows   uint64 // how often a sketch hashes an item
}

// Adding is what may be added and deleted before the work is done, and up to how many
// sub-filters a CF may have for it.
type Adding struct {
	Items   int
	Hashes  int // of the items: those whose hashes the client may have chosen
	Deletes int
	Filters uint64
	Most    uint64 // no more is of interest, of what all items touch

	before *bits.Scalable // the filter whose growth was found out last, nil if it was of another kind
}

// enough reports whether a size is beyond what is of interest.
func (a Adding) enough(s *Size) bool {
	return a.Most > 0 && (s.Grown > a.Most || a.Items > 0 && s.Item > a.Most/uint64(a.Items))
}

const (
	// Line is what a cache line of a large array counts for, near one of an array that
	// stays in the caches of a processor.
	Line = 48
	near = 6
	// nearBytes is up to which size an array stays there.
	nearBytes = 1 << 20
	// lookBytes is how much of an array is looked at to describe it.
	lookBytes = 64 << 10
	// pageBytes is what the first write to a page of a new array clears.
	pageBytes = 2 << 20
	// arrayBytes is what it takes to make an array.
	arrayBytes = 16 << 10
)

// mostSize is a size that nothing has.
const mostSize = math.MaxInt64 / 4

// lineIn is what a cache line of an array counts for.
func lineIn(bytes uint64) uint64 {
	if bytes <= nearBytes {
		return near
	}
	return Line
}

// Max returns a size that is at least both.
func (s Size) Max(o Size) Size {
	return Size{
		max(s.Bytes, o.Bytes), max(s.Item, o.Item), max(s.Change, o.Change), max(s.Search, o.Search), max(s.Look, o.Look),
		max(s.Arrays, o.Arrays), max(s.Parts, o.Parts), max(s.Grown, o.Grown), max(s.Rows, o.Rows),
	}
}

// array adds an array whose lines an item touches so often.
func (s *Size) array(bytes, lines uint64) {
	s.Bytes = add(s.Bytes, bytes)
	s.Item = add(s.Item, lines*lineIn(bytes))
	s.Look = add(s.Look, min(bytes, lookBytes)+arrayBytes/16)
	s.Arrays++
}

// add adds without passing the largest number.
func add(a, b uint64) uint64 {
	return min(a, mostSize) + min(b, mostSize)
}

// sized is contents that know what work on them touches.
type sized interface{ size(Adding) Size }

// SizeOf returns the size of the filter or sketch that an entry stands for, when
// something was added to it. That of a string is zero.
func SizeOf(e *catalog.Entry, a Adding) (s Size) {
	for _, p := range Parts(e) {
		p.RLock()
		if a.enough(&s) {
			p.RUnlock()
			break
		}
		if c, ok := p.contents.(sized); ok && !p.Gone() {
			one := c.size(a)
			a.before, _ = p.Filter().(*bits.Scalable)
			// An item is in one part, and all items may be chosen for that.
			one.Item, one.Change, one.Search = max(one.Item, s.Item), max(one.Change, s.Change), max(one.Search, s.Search)
			one.Bytes, one.Look = add(one.Bytes, s.Bytes), max(one.Look, s.Look)
			one.Arrays, one.Grown = add(one.Arrays, s.Arrays), add(one.Grown, s.Grown)
			s = one
		}
		p.RUnlock()
	}
	s.inParts(uint64(PartCount(e)))
	return s
}

// inParts makes Look, that of the largest part, that of so many: some are looked at, all
// are glanced at.
func (s *Size) inParts(n uint64) {
	const glance = 4 << 10
	if s.Parts = n; n > 1 {
		s.Look = add(min(n, LookParts)*s.Look, n*glance)
	}
}

// LookParts is how many parts of a filter are looked at to describe it.
const LookParts = 16

// layers adds the layers of a BF.
func (s *Size) layers(layers iter.Seq[redisbloom.Layer], a Adding) {
	for l := range layers {
		s.array(l.Bytes, uint64(l.Hashes))
		if s.Grown = add(s.Grown, l.Bytes+arrayBytes); a.enough(s) {
			return
		}
	}
}

func (b bloom) size(a Adding) (s Size) {
	for i := range b.Layers() {
		l := b.Layer(i)
		s.array(l.Bytes, uint64(l.Hashes))
	}
	s.layers(b.Grown(a.Items), a)
	return s
}

func (c cuckoo) size(a Adding) Size { return cuckooSize(c.Shape(), a) }

// cuckooSize takes into account that equal items, or such as are chosen for it, fill
// their buckets and make the filter grow each time, that items are moved when it is
// nearly full, and that deletes compact it.
func cuckooSize(c redisbloom.CuckooShape, a Adding) (s Size) {
	bucket := uint64(c.BucketSize)
	if c.Filters == 0 || bucket == 0 {
		return s
	}
	grown := uint64(0)
	if c.Expansion > 0 && a.Items > 0 {
		grown = min(uint64(a.Items)/(2*bucket)+1, max(a.Filters, c.Filters)-c.Filters)
	}
	newest := c.Newest
	lines := 2 * (bucket/64 + 1)
	s = Size{Bytes: c.Slots, Arrays: c.Filters, Item: lines * lineIn(c.Slots) * min(c.Filters, 64)}
	s.Item = add(s.Item, lines*near*(c.Filters-min(c.Filters, 64)))
	s.Look = min(c.Slots, c.Filters*lookBytes) + c.Filters*arrayBytes/16
	for range grown {
		newest = min(newest*uint64(max(c.Expansion, 1)), mostSize)
		s.Bytes, s.Arrays = add(s.Bytes, newest), s.Arrays+1
		s.Item += lines * near
		s.Look += min(newest, lookBytes) + arrayBytes/16
		s.Grown = add(s.Grown, arrayBytes+min(newest, pageBytes)/4)
	}
	moves, full := 2*uint64(c.MaxIterations), c.Items+uint64(a.Items) > c.Newest*4/5
	switch {
	case a.Items == 0:
	case full || c.MaxIterations > usualIterations: // a dump may say that it has few items
		s.Item = add(s.Item, moves*lineIn(c.Newest))
	case c.Expansion == 0:
		s.Item = add(s.Item, moves*near)
	default:
		s.Item += 4 * lineIn(c.Newest)
		s.Grown = add(s.Grown, grown*moves*near)
	}
	if a.Deletes > 0 && s.Arrays > 1 {
		s.Grown = add(s.Grown, compactions(a)*min(maxCompact, c.Newest/16+min(c.Items+uint64(a.Items), c.Newest)*s.Arrays)*stepBytes)
	}
	return s
}

// usualIterations is how many moves RedisBloom makes unless it is told another number.
const usualIterations = 20

const (
	// maxCompact is how many steps of a compaction a delete does itself, stepBytes what
	// each of them counts for.
	maxCompact = 16 << 10
	stepBytes  = 16
)

// compactions is how often deletes compact a filter: whenever a tenth of its items is
// gone, and when hardly any is left, after a few.
func compactions(a Adding) uint64 {
	const tenths = 200 // until the largest filter is empty
	return min(uint64(a.Deletes), tenths+uint64(a.Deletes+a.Items)/8)
}

func (c countMin) size(Adding) Size { return countMinSize(c.Bytes(), c.depth) }

func countMinSize(bytes, depth uint64) Size {
	const hash = 24
	return Size{Bytes: bytes, Item: depth * (lineIn(bytes) + hash), Look: arrayBytes / 16, Arrays: 1, Rows: depth}
}

func newCountMinSize(header []byte, bytes uint64, _ Adding) Size {
	p, _, _ := redisbloom.ParseCountMinHeader(header)
	return countMinSize(bytes, p.Depth)
}

func (t topK) size(Adding) Size {
	return topKSize(t.Bytes(), uint64(t.K()), uint64(t.Depth()))
}

// topKSize takes into account that an item is looked for in all slots, and that they
// are sorted to be listed.
func topKSize(bytes, k, depth uint64) Size {
	const slot, hash, sorted = 8, 24, 768
	return Size{
		Bytes: bytes, Item: add(depth*(lineIn(bytes)+hash), k*slot), Look: add(k*sorted, lookBytes), Arrays: 1, Rows: depth,
	}
}

func newTopKSize(header []byte, bytes uint64, _ Adding) Size {
	p, _ := redisbloom.ParseTopKHeader(header)
	return topKSize(bytes, uint64(p.K), uint64(p.Depth))
}

func newTDigestSize(_ []byte, bytes uint64, a Adding) Size { return tdigestSize(bytes, a) }

func (t tdigest) size(a Adding) Size { return tdigestSize(t.Bytes(), a) }

// sortedDigest is how much more sorting the values of a digest takes than passing over
// them.
const sortedDigest = 8

// tdigestSize is that of an item that is added; the answer to a question passes over all
// centroids.
func tdigestSize(bytes uint64, a Adding) Size {
	const value = 256
	s := Size{Bytes: bytes, Item: value, Look: arrayBytes / 16, Arrays: 1}
	if a.Items > 0 {
		s.Grown = add(sortedDigest*bytes, 0)
	}
	return s
}

// linesOfItem is how many lines of a layer, generation or member an item touches.
const linesOfItem = 16

func (c *filter) size(a Adding) (s Size) {
	if c.f == nil {
		return s
	}
	layers, bytes, need := uint64(layersOf(c.f)), uint64(keepFrom), uint64(0)
	if c.own != nil { // that of a small one takes long to find out
		bytes = c.Bytes()
	}
	item := layers * linesIn(c.f) * lineIn(bytes)
	switch f := c.f.(type) {
	case *composed.Quorum:
		need = uint64(f.Need())
	case *quotient.Growing: // it consists of very many small arrays, which are put together to be visited
		layers += bytes / growingArray
	}
	s = codecSize(bytes, layers, need)
	if c.plan.Load().hasher.Kind() != hashing.SipHash {
		a.Hashes = a.Items // they can be chosen, too
	}
	lookup, change := reachOf(c.f, a.Hashes)
	s.Item, s.Change = add(item, lookup*reachBytes), change*reachBytes
	grows, _ := c.f.(*quotient.Growing)
	if grows != nil {
		s.Change += segmentBytes
	}
	if a.Items > 0 {
		s.Grown, _ = c.Growth(a.Items)
		s.Bytes = add(s.Bytes, s.Grown)
		s.Grown = add(s.Grown, growthBytes)
		if grows != nil {
			s.Grown = add(s.Grown, uint64(grows.GrowSegments(a.Items))*grownBytes)
		}
		if f, ok := c.f.(*bits.Scalable); ok {
			s.Grown = add(s.Grown, uint64(f.GrowLayers(a.Items, a.before))*layerSizeBytes)
		}
		each, far := searched(c.f, a)
		s.Change, s.Search = add(s.Change, each), far
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

// codecSize is that of a part of so many layers, without items. Of a quorum, need is how
// many members must agree: its rate follows from those of all of them.
func codecSize(bytes, layers, need uint64) Size {
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
	case *bits.Standard:
		return max(linesOfItem, uint64(f.Shape().K))
	case *bits.Partitioned:
		return max(linesOfItem, uint64(f.Shape().K))
	}
	return linesOfItem
}

// searched is what the search for room takes in a cuckoo filter, or in those that a filter
// consists of: for each item, and for all items that search far.
func searched(f bloomery.Hashed, a Adding) (each, far uint64) {
	eachMember(f, func(m bloomery.Hashed) {
		c, ok := m.(*cuckoofilter.Filter)
		if !ok {
			return
		}
		one, all := searches(c.Shape(), c.Stats().Items, a)
		each, far = add(each, one), add(far, all)
	})
	return each, far
}

// searches is searched for a cuckoo filter with so many items. All of them may search through
// some buckets. Those that come when the filter is nearly full, and those whose hashes a client may
// have chosen for buckets that are full, search through thousands.
func searches(shape sizing.Cuckoo, taken uint64, a Adding) (each, far uint64) {
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

// size is that of the filter which a shadow is, or of the hashes of a static one.
func (d *draft) size(a Adding) Size {
	if d.inner != nil {
		return d.inner.size(a)
	}
	const hash = 64
	return Size{Bytes: d.Bytes(), Item: hash, Arrays: 1}
}

// newFilterSize is that of a filter that a record makes: one of several members or
// generations has as many as there may be.
func newFilterSize(header []byte, bytes uint64, a Adding) Size {
	p, o, err := parseCreation(header)
	if err != nil {
		return Size{}
	}
	const most, item, mostLines = 256, 64, 64
	layers, lines := uint64(1), uint64(linesOfItem)
	grown, change, search := item*uint64(a.Items), uint64(0), uint64(0)
	switch o.Kind().Name {
	case "cuckoo":
		if p.KeyID == "" {
			a.Hashes = a.Items
		}
		_, outline, _ := parsePlan(header)
		head, _ := envelope.ParseHeader(outline) // K is the bits of a slot
		shape := sizing.Cuckoo{Buckets: head.Size / (sizing.CuckooSlots * uint64(max(head.K, 1))), Width: int(head.K)}
		change, search = searches(shape, 0, a)
	case "quotient":
		change = newReach * reachBytes
	case "growing":
		change = newGrowingReach * reachBytes
	case "scalable":
		grown += uint64(mathbits.Len64(uint64(a.Items))) * layerSizeBytes
	case "window", "quorum":
		layers = most
	case "standard", "partitioned":
		lines = mostLines
	}
	parts := uint64(1) << p.Parts
	s := codecSize(bytes/parts, layers, layers)
	s.Bytes, s.Arrays = bytes+layers*parts*arrayBytes, layers*parts
	s.Item, s.Grown = layers*lines*lineIn(bytes), grown
	s.Change, s.Search = change, search
	s.inParts(parts)
	return s
}
