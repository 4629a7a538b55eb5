package contents

// What there is to know of a part for those who rebuild or unite its filter.

import (
	"encoding/binary"
	"math"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/server/internal/wire"
	"github.com/bloomery/bloomery/sizing"
)

// Progress is what there is to know of a filter, or of a shadow, for those who rebuild or unite it.
type Progress struct {
	Items, Bytes, Capacity uint64
	Fed, Added, Missed     uint64  // of a shadow: see Draft
	Gone, Sources          uint64  // of a filter: items that are deleted elsewhere, and the most sources that a part has
	Asked                  float64 // error rate, of the first part
	// Members and Need are those of kind quorum, Generations and Burst those of a window.
	Members, Need, Generations uint64
	Burst                      float64
	// Bits and K are the shape of the first part, if it can be united with others.
	Bits, K uint64

	Open bool // it is of a shadow; not sent
}

// Progress returns what there is to know of a part. It reports false if its contents are not here.
func (p *Part) Progress() (v Progress, ok bool) {
	p.RLock()
	defer p.RUnlock()
	if p.Gone() || p.contents == nil {
		return v, false
	}
	var stats bloomery.Stats
	switch c := p.contents.(type) {
	case *Draft:
		stats, v.Bytes, v.Open = c.Stats(), c.Bytes(), true
		v.Fed, v.Added, v.Missed = c.fed, c.added, c.missed
	case *Filter:
		stats, v.Bytes = c.Stats(), c.Bytes()
		if c.aside != nil {
			v.Gone, v.Sources = c.aside.goneItems(), uint64(len(c.aside.known()))
		}
		switch f := c.f.(type) {
		case *compose.Quorum:
			v.Members, v.Need = uint64(len(f.Members())), uint64(f.Need())
		case *compose.Window:
			shape := f.Shape()
			v.Generations, v.Burst = uint64(shape.Generations), shape.Burst
		case interface{ Shape() sizing.Shape }:
			shape := f.Shape()
			v.Bits, v.K = shape.Bits, uint64(shape.K)
		}
	default:
		return v, false
	}
	v.Items, v.Capacity, v.Asked = stats.Items, stats.Capacity, stats.Asked
	return v, true
}

// Add adds what is known of another part. A number of items that is not known stays so.
func (v *Progress) Add(w *Progress) {
	v.Items = plus(v.Items, w.Items)
	v.Bytes, v.Capacity = v.Bytes+w.Bytes, v.Capacity+w.Capacity
	v.Fed, v.Added, v.Missed, v.Gone = v.Fed+w.Fed, v.Added+w.Added, v.Missed+w.Missed, plus(v.Gone, w.Gone)
	v.Sources = max(v.Sources, w.Sources)
}

// plus adds numbers up to the largest.
func plus(a, b uint64) uint64 { return a + min(b, math.MaxUint64-a) }

// numbers are those of v, as they are sent between nodes.
func (v *Progress) numbers() []*uint64 {
	return []*uint64{&v.Items, &v.Bytes, &v.Capacity, &v.Fed, &v.Added, &v.Missed, &v.Gone, &v.Sources, &v.Members, &v.Need, &v.Generations, &v.Bits, &v.K}
}

// Append appends v for ReadProgress.
func (v *Progress) Append(b []byte) []byte {
	for _, f := range v.numbers() {
		b = binary.AppendUvarint(b, *f)
	}
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v.Asked))
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(v.Burst))
}

// ReadProgress reads what Append wrote, and returns what stands behind it.
func ReadProgress(b []byte) (v Progress, rest []byte, ok bool) {
	d := wire.Reader{Rest: b}
	for _, f := range v.numbers() {
		*f = d.Uvarint()
	}
	v.Asked, v.Burst = math.Float64frombits(d.Uint64()), math.Float64frombits(d.Uint64())
	return v, d.Rest, !d.Bad
}
