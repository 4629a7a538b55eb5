package quotient

import (
	"math"
	"math/bits"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/sizing"
)

// segment is the table of all keys whose hashes begin with a prefix.
type segment struct {
	table
	totals
	shape   sizing.Quotient
	prefix  uint64 // of the hashes, from the top bit on
	depth   int    // bits of the prefix, as is skip
	address int    // bits of prefix and quotient
	limit   uint64 // slots in use from which on it grows
	mass    uint64 // the share of all hashes that are found, of 2^63
	owner   uint64 // which filter may change it, see segments
}

// newSegment returns an empty segment. depth is the length of the prefix.
func newSegment(q sizing.Quotient, prefix uint64, depth int, data []byte) *segment {
	s := &segment{
		table: newTable(q, data), shape: q, prefix: prefix, depth: depth,
		address: depth + bits.TrailingZeros64(q.Blocks*sizing.QuotientsPerBlock), limit: q.GrowingLimit(),
	}
	s.ragged, s.skip = true, uint(depth)
	s.bound = math.MaxInt // it ends with the segment
	return s
}

// locate returns the quotient of a hash and its remainder in full length.
func (s *segment) locate(h uint64) (quotient, remainder uint64) {
	quotient, remainder = s.split(s.rest(h))
	return quotient, remainder | 1
}

// rest returns what is left of a hash behind the prefix. A segment has quotients,
// so its prefix is no whole hash: the shift is taken modulo 64, which changes
// nothing and takes less time.
func (s *segment) rest(h uint64) uint64 { return h << (s.skip % 64) }

// hashOf returns the hash with which a quotient begins.
func (s *segment) hashOf(quotient uint64) uint64 {
	return s.prefix | quotient<<uint(64-s.address)
}

// share returns the share of all hashes that a slot finds, of 2^63.
func (s *segment) share(value uint64) uint64 {
	return 1 << uint(63-s.address-s.fingerprintBits(value))
}

// setTotals sets the totals and what follows from them.
func (s *segment) setTotals(t totals) {
	s.totals = t
	s.counts = t.items != t.distinct
}

// segments is what can be read of a growing filter: what Growing and
// its view share. A directory of 2^b entries gives the segment of a hash by
// its first b bits; a segment whose prefix is shorter has several entries.
type segments struct {
	noJSON
	dir   []*segment
	shift uint // 64 - b
	sum   sums

	elders   elders
	hasher   hashing.Hasher
	plan     sizing.Growing
	owner    uint64 // of the segments that the filter may change: forks have others, too
	copied   uint64 // bytes of segments that were copied since a fork has them, too
	first    int    // address bits of the first generation
	capacity uint64
	rate     float64

	reach      reach // of all segments
	unmeasured bool  // it is not known
}

// sums are the totals of all segments.
type sums struct {
	items uint64 // occurrences
	used  uint64 // slots
	slots uint64
	mass  uint64 // see segment
	bits  uint64 // of all arrays
	bytes uint64 // of all arrays, in whole words
	count uint64 // segments
}

// add adds the figures of a segment, but for its items.
func (t *sums) add(s *segment) {
	t.used += s.used
	t.slots += s.shape.Blocks * uint64(s.shape.Slots)
	t.mass += s.mass
	t.bits += s.shape.Bits()
	t.bytes += arrayBytes(s.shape)
	t.count++
}

// sub takes the figures of a segment away.
func (t *sums) sub(s *segment) {
	t.used -= s.used
	t.slots -= s.shape.Blocks * uint64(s.shape.Slots)
	t.mass -= s.mass
	t.bits -= s.shape.Bits()
	t.bytes -= arrayBytes(s.shape)
	t.count--
}

// at returns the segment of a hash, which has one unless the filter is a zero
// one.
func (g *segments) at(h uint64) *segment {
	// A zero filter has no shift and no directory; the modulo saves time.
	if i := h >> 1 >> ((g.shift - 1) % 64); i < uint64(len(g.dir)) {
		return g.dir[i]
	}
	return nil
}

// setDirectory gives the directory so many bits.
func (g *segments) setDirectory(b int) {
	old := g.dir
	g.dir, g.shift = make([]*segment, 1<<b), uint(64-b)
	for i := range g.dir {
		if len(old) > 0 {
			g.dir[i] = old[i*len(old)/len(g.dir)]
		}
	}
}

// enter puts a segment into all of its entries of the directory.
func (g *segments) enter(s *segment) {
	from := s.prefix >> 1 >> (g.shift - 1)
	for i := range uint64(1) << (64 - g.shift - uint(s.depth)) {
		g.dir[from+i] = s
	}
}

// each calls yield for all segments in the order of their prefixes.
func (g *segments) each(yield func(s *segment) bool) {
	for i := 0; i < len(g.dir); {
		s := g.dir[i]
		if !yield(s) {
			return
		}
		i += 1 << (64 - g.shift - uint(s.depth))
	}
}

// Hash returns the filter's hash of key.
func (g *segments) Hash(key []byte) uint64 { return g.hasher.Hash(key) }

// Hasher returns the hasher of the filter.
func (g *segments) Hasher() hashing.Hasher { return g.hasher }

// Shape returns the plan by which the filter grows.
func (g *segments) Shape() sizing.Growing { return g.plan }

// Contains reports whether key may be in the filter. False is certain.
func (g *segments) Contains(key []byte) bool { return g.ContainsHash(g.hasher.Hash(key)) }

// ContainsString is Contains for a string.
func (g *segments) ContainsString(key string) bool { return g.ContainsHash(g.hasher.HashString(key)) }

// ContainsHash is Contains for a key whose hash is h.
func (g *segments) ContainsHash(h uint64) bool {
	s := g.at(h)
	return s != nil && s.contains(s.rest(h))
}

// ContainsHashes sets dst[i] to ContainsHash(hs[i]). It panics if dst is
// shorter than hs.
func (g *segments) ContainsHashes(dst []bool, hs []uint64) {
	dst = dst[:len(hs):len(dst)]
	for len(hs) > 0 {
		n := min(len(hs), lookAhead)
		g.touch(hs[:n])
		for i, h := range hs[:n] {
			dst[i] = g.ContainsHash(h)
		}
		hs, dst = hs[n:], dst[n:]
	}
}

// touch is that of a table, over all segments.
//
//go:noinline
func (g *segments) touch(hs []uint64) (x byte) {
	for _, h := range hs {
		if s := g.at(h); s != nil {
			quotient, _ := bits.Mul64(s.rest(h), s.quotients)
			at := int(quotient/sizing.QuotientsPerBlock) * s.size
			x += s.data[at] + s.data[at+s.size-1]
		}
	}
	return x
}

// Sample returns up to n bytes of the arrays as they lie in memory, from where keys with
// hashes like h are kept: to look at, not to change.
func (g *segments) Sample(h uint64, n int) []byte {
	s := g.at(h)
	if s == nil {
		return nil
	}
	at, _ := bits.Mul64(s.rest(h), s.shape.Bits()/8)
	return s.data[at:min(at+uint64(max(n, 0)), s.shape.Bits()/8)]
}

// ContainsKeys is ContainsHashes for keys.
func (g *segments) ContainsKeys(dst []bool, keys [][]byte) { segmentsContain(g, dst, keys) }

// ContainsStrings is ContainsHashes for strings.
func (g *segments) ContainsStrings(dst []bool, keys []string) { segmentsContain(g, dst, keys) }

func segmentsContain[K []byte | string](g *segments, dst []bool, keys []K) {
	dst = dst[:len(keys):len(dst)]
	var hs [batch]uint64
	for len(keys) > 0 {
		n := hashing.HashBatch(g.hasher, hs[:], keys)
		g.ContainsHashes(dst[:n], hs[:n])
		keys, dst = keys[n:], dst[n:]
	}
}

// Count returns how often key was inserted and not deleted, and with it every
// key whose fingerprint is a prefix of its hash: it is never too low.
func (g *segments) Count(key []byte) uint64 { return g.CountHash(g.hasher.Hash(key)) }

// CountString is Count for a string.
func (g *segments) CountString(key string) uint64 { return g.CountHash(g.hasher.HashString(key)) }

// CountHash is Count for a key whose hash is h.
func (g *segments) CountHash(h uint64) uint64 {
	s := g.at(h)
	if s == nil {
		return 0
	}
	n, void := s.countPrefixes(s.locate(h))
	if void {
		n += g.elders.sum(h)
	}
	return n
}

// MaxCount returns the highest count of a key that is inserted into a filter
// which does not grow meanwhile. Later generations count anew.
func (g *segments) MaxCount() uint64 { return maxCount }

// String returns Stats as a line of text.
func (g *segments) String() string { return g.Stats().String() }

// Stats returns the state of the filter. Items are occurrences, and all figures
// are exact: the rate predicted is the share of all hashes that are found. Capacity is
// 0: there is none.
func (g *segments) Stats() bloomery.Stats {
	st := bloomery.Stats{
		Kind:      "growing",
		Items:     g.sum.items,
		Exact:     true,
		Bits:      g.sum.bits,
		Bytes:     g.bytes(),
		Asked:     g.rate,
		Predicted: min(1, float64(g.sum.mass)/(1<<63)),
	}
	if g.sum.slots > 0 {
		st.Saturation = min(1, float64(g.sum.used)/float64(g.sum.slots))
	}
	return st
}

// The sizes of what is beside the arrays: a segment, an entry of the directory,
// and an elder in a Go map that is half full.
const (
	segmentBytes = 256
	entryBytes   = 8
	elderBytes   = 2*16 + 4
)

// bytes returns the memory of the filter.
func (g *segments) bytes() uint64 {
	return g.sum.bits/8 + g.sum.count*(segmentBytes+padding) + uint64(len(g.dir))*entryBytes + uint64(g.elders.size)*elderBytes
}

// clone returns a copy with its own memory.
func (g *segments) clone() segments {
	c := *g
	c.elders = g.elders.clone(c.owner)
	c.dir = make([]*segment, len(g.dir))
	for s := range g.each {
		c.enter(s.clone(c.owner))
	}
	return c
}

// clone returns a copy of a segment for another owner.
func (s *segment) clone(owner uint64) *segment {
	own := *s
	own.owner = owner
	own.data = memory.Piece(len(s.data))
	copy(own.data, s.data)
	return &own
}
