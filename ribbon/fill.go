package ribbon

import (
	"math"
	"slices"

	"github.com/bloomery/bloomery/sizing"
)

// filling fills the layers of one shard after the other. Its memory is used
// again.
type filling struct {
	w       *width
	r       int     // columns of a narrow block
	share   float64 // of the keys that must have a column more
	mask    uint32  // bits of fingerprints that rows carry
	field   field   // where rows carry a value beside it
	band    band
	values  []uint32 // of the keys of the present layer; nil for a filter
	pairs   []pair   // to sort them
	spilled []uint32 // room for the values of a shard
	codes   []uint64
	placed  []placed // rows of the present bucket
	words   []uint64 // the shard so far
}

// placed is where a row found its place, or -1, and where in its bucket it
// began.
type placed struct{ slot, pos int }

func newFilling(p *plan) *filling {
	columns := p.size.Columns
	if p.size.Share > 0 {
		columns++
	}
	return &filling{w: p.w, r: p.size.Columns, share: p.size.Share, mask: uint32(1<<columns - 1), field: p.field, band: p.w.inserter()}
}

// reserve makes the buffers for a shard of n keys: buffers that grow from shard
// to shard would leave others behind them.
func (f *filling) reserve(n int, size sizing.Ribbon) {
	blocks := f.w.blocks(n)
	f.band.reset(blocks * blockSlots)
	f.codes = make([]uint64, codeWordsFor(blocks, f.w))
	f.words = make([]uint64, 0, size.Bits(uint64(n))/64*17/16+64)
}

// fill puts as many of the sorted keys as it can into an empty layer of so
// many blocks, and returns how many there is no room for. Those are at the
// begin of keys then, bumped and in no order.
//
// Buckets are filled from left to right, so that rows meet few others, and the
// keys of a bucket from right to left: the slots on its left side are taken by
// rows of the bucket before. When a row does not fit, all that begin left of a
// bound are removed again.
func (f *filling) fill(keys []uint64, blocks int) (bumped int) {
	starts := startsOf(blocks, f.w)
	f.band.reset(blocks * blockSlots)
	f.codes = zeroed(f.codes, codeWordsFor(blocks, f.w))
	from := 0
	for bucket := range bucketsOf(blocks, f.w) {
		to := from
		for to < len(keys) && startOf(keys[to], starts)>>f.w.bucket == bucket {
			to++
		}
		code := f.fillBucket(keys, from, to, starts)
		f.codes[bucket/perCodes] |= code << (bucket % perCodes * codeBits)
		bound := f.w.bound(code)
		for i, h := range keys[from:to] {
			if f.pos(h, starts) >= bound {
				break
			}
			keys[bumped] = bump(h)
			if f.values != nil {
				f.values[bumped] = f.values[from+i]
			}
			bumped++
		}
		from = to
	}
	return bumped
}

// pos returns where in its bucket the row of h begins.
func (f *filling) pos(h, starts uint64) uint64 {
	return startOf(h, starts) & (1<<f.w.bucket - 1)
}

// fillBucket inserts the keys of one bucket, those between from and to, and
// returns its code.
func (f *filling) fillBucket(keys []uint64, from, to int, starts uint64) uint64 {
	f.placed = f.placed[:0]
	for i, h := range slices.Backward(keys[from:to]) {
		start := startOf(h, starts)
		pos := start & (1<<f.w.bucket - 1)
		v := printOf(h)
		if f.values != nil {
			v = f.field.join(v, f.values[from+i])
		}
		slot, ok := f.band.insert(int(start), h, v&f.mask)
		if ok {
			f.placed = append(f.placed, placed{slot, int(pos)})
			continue
		}
		code := uint64(codeMore)
		for pos >= f.w.bound(code) {
			code--
		}
		f.takeOut(int(f.w.bound(code)))
		return code
	}
	return codeAll
}

// takeOut takes the rows of the present bucket out that begin left of bound.
// They were the last to come in.
func (f *filling) takeOut(bound int) {
	for i := len(f.placed) - 1; i >= 0 && f.placed[i].pos < bound; i-- {
		if slot := f.placed[i].slot; slot >= 0 {
			f.band.erase(slot)
		}
	}
}

// narrow returns how many blocks can do with r columns: as many as leave the
// share of the kept starts behind them that need one column more. What counts
// is where keys that are asked for can begin, not where those do that are
// there.
func (f *filling) narrow(blocks int) int {
	if f.share == 0 {
		return blocks
	}
	limit := startsOf(blocks, f.w)
	kept := func(block int) (n uint64) {
		// A block lies in one bucket, and a bucket keeps its right side.
		from, to := uint64(block*blockSlots), min(uint64(block+1)*blockSlots, limit)
		if from >= to {
			return 0
		}
		mask := uint64(1)<<f.w.bucket - 1
		bucket := from >> f.w.bucket
		bound := from&^mask + f.w.bound(codeOf(f.codes, bucket))
		return to - min(to, max(from, bound))
	}
	var all uint64
	for block := range blocks {
		all += kept(block)
	}
	need := uint64(math.Ceil(f.share * float64(all)))
	narrow := blocks
	for wide := uint64(0); wide < need; {
		narrow--
		wide += kept(narrow)
	}
	return narrow
}

// solve writes the layer that was filled into l.
func (f *filling) solve(l *layer, blocks int) {
	copy(l.codes, f.codes)
	var next, after []uint64
	end := len(l.cols)
	for block := blocks - 1; block >= 0; block-- {
		at := l.at(block, f.r)
		cols := l.cols[at:end]
		f.band.solve(cols, next, after, block)
		next, after, end = cols, next, at
	}
}
