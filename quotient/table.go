package quotient

import (
	"encoding/binary"
	"math/bits"

	"github.com/bloomery/bloomery/sizing"
)

// The parts of a block: the offset, a bit for each quotient, a bit for each
// slot, and the remainders in the slots.
const (
	occupiedAt = 1
	endsAt     = 9

	// saturated stands for every offset that does not fit into its byte.
	saturated = 255
	// padding is how many bytes are read behind the last block at most.
	padding = 16
)

// table is the array of a filter: blocks of 64 quotients with fewer or as many
// slots. The entries of a block's quotients follow each other without gaps, by
// quotient and then by remainder, from the block's first slot on, or from where
// those of the blocks before end, if they run over. Offset is how far they
// do. The last slot of every quotient's run has its end bit set. Slots that are
// not in use are zero, so that one multiset has one array.
//
// The fields that lookups read come first, in two cache lines; one is enough to
// see that a quotient is not in use.
type table struct {
	data      []byte
	quotients uint64
	skip      uint   // bits of a hash before the quotient, in a segment
	size      int    // bytes of a block
	width     uint   // bits of a remainder
	ends      uint64 // the end bits of a block, those of its slots

	slots     int    // slots of a block
	lanes     uint   // remainders that one load holds, wherever in a byte they begin
	low, high uint64 // the lowest and the highest bit of each of these
	pair      uint64 // the bits of the first two
	blocks    int    // all blocks
	counts    bool   // some remainder may be there more than once
	ragged    bool   // remainders have different lengths, see prefix.go

	home int    // blocks that have quotients
	mask uint64 // the bits of a remainder

	reach     // as far as it was seen
	bound int // blocks that a stretch may have
}

// place is a slot: that of a number in a block.
type place struct{ block, slot int }

func newTable(q sizing.Quotient, data []byte) table {
	t := table{
		data:   data,
		size:   int(q.BlockBytes()),
		slots:  q.Slots,
		width:  uint(q.Remainder),
		mask:   1<<q.Remainder - 1,
		ends:   1<<q.Slots - 1,
		home:   int(q.Blocks),
		blocks: int(q.Blocks + q.Spill),

		quotients: q.Blocks * sizing.QuotientsPerBlock,
		lanes:     57 / uint(q.Remainder),
		pair:      1<<(2*q.Remainder) - 1,
	}
	for i := range t.lanes {
		t.low |= 1 << (i * t.width)
	}
	t.high = t.low << (t.width - 1)
	return t
}

// arrayBytes returns the size of the array of a table, in whole words.
func arrayBytes(q sizing.Quotient) uint64 { return (q.Bits()/8 + padding + 7) &^ 7 }

// split returns quotient and remainder of a hash: the bits before and behind
// the point in the product of the hash, as a fraction, and the quotients.
func (t *table) split(h uint64) (quotient, remainder uint64) {
	quotient, rest := bits.Mul64(h, t.quotients)
	return quotient, rest >> ((64 - t.width) % 64) // the width is at least 1
}

// load returns 8 bytes. That the slice is of them alone saves the compiler a
// case, that of an empty one behind the end.
func load(b []byte, at int) uint64 { return binary.LittleEndian.Uint64(b[at : at+8 : at+8]) }

func store(b []byte, at int, x uint64) { binary.LittleEndian.PutUint64(b[at:at+8:at+8], x) }

func (t *table) offset(block int) byte { return t.data[block*t.size] }

func (t *table) setOffset(block int, x int) { t.data[block*t.size] = byte(min(x, saturated)) }

// occupied returns the bits of the quotients of a block that are in use.
func (t *table) occupied(block int) uint64 { return load(t.data, block*t.size+occupiedAt) }

func (t *table) setOccupied(block int, x uint64) { store(t.data, block*t.size+occupiedAt, x) }

// endBits returns the bits of the slots of a block that end a run.
func (t *table) endBits(block int) uint64 { return load(t.data, block*t.size+endsAt) & t.ends }

func (t *table) setEndBits(block int, x uint64) {
	at := block*t.size + endsAt
	store(t.data, at, load(t.data, at)&^t.ends|x)
}

// isEnd reports whether the slot ends a run.
func (t *table) isEnd(p place) bool {
	return load(t.data, p.block*t.size+endsAt)>>uint(p.slot)&1 != 0
}

// bit returns where the remainder of slot i of a block begins: in which byte of
// the array, and at which bit of it.
func (t *table) bit(block, i int) (at int, shift uint) {
	n := uint(t.slots) + uint(i)*t.width
	return block*t.size + endsAt + int(n>>3), n & 7
}

// value returns the remainder in a slot.
func (t *table) value(p place) uint64 {
	at, shift := t.bit(p.block, p.slot)
	return load(t.data, at) >> shift & t.mask
}

func (t *table) set(p place, v uint64) {
	at, shift := t.bit(p.block, p.slot)
	store(t.data, at, load(t.data, at)&^(t.mask<<shift)|v<<shift)
}

// next returns the slot behind p. It may be behind the table.
func (t *table) next(p place) place {
	if p.slot++; p.slot == t.slots {
		return place{p.block + 1, 0}
	}
	return p
}

// seek returns the slot behind the end of the k-th run that ends at p or
// later. It may be behind the table.
func (t *table) seek(p place, k int) place {
	for p.block < t.blocks {
		ends := t.endBits(p.block) >> uint(p.slot)
		n := bits.OnesCount64(ends)
		switch {
		case k == 0:
			return p
		case k <= n:
			return t.next(place{p.block, p.slot + nth(ends, k-1)})
		}
		k -= n
		p = place{p.block + 1, 0}
	}
	return p
}

// begin returns the slot where the entries of a block's quotients begin. A
// saturated offset is found by a walk from the last block before that has a
// true one.
func (t *table) begin(block int) place {
	from := block
	for from > 0 && t.offset(from) == saturated {
		from--
	}
	p := place{from, int(t.offset(from))}
	for p.slot >= t.slots {
		p = place{p.block + 1, p.slot - t.slots}
	}
	for ; from < block; from++ {
		p = t.after(p, from)
	}
	return p
}

// after returns where the entries of the block behind a block begin, given
// where its own do.
func (t *table) after(p place, block int) place {
	p = t.seek(p, bits.OnesCount64(t.occupied(block)))
	if p.block <= block {
		return place{block + 1, 0}
	}
	return p
}

// offsetOf returns the offset of a block whose entries begin at p.
func (t *table) offsetOf(block int, p place) int { return (p.block-block)*t.slots + p.slot }

// start returns the slot where the run of a quotient begins, or would begin,
// and whether it has one.
func (t *table) start(quotient uint64) (place, bool) {
	block, i := int(quotient/sizing.QuotientsPerBlock), quotient%sizing.QuotientsPerBlock
	occupied := t.occupied(block)
	p := t.seek(t.begin(block), bits.OnesCount64(occupied&(1<<i-1)))
	return p, occupied>>i&1 != 0
}
