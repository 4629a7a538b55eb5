package quotient

import "github.com/bloomery/bloomery/sizing"

// grown returns the shape that takes n keys and all that is there. Counts take
// more slots when remainders have fewer bits, most of all below digitBits, so
// that it may take more doublings than n alone would.
func (f *Filter) grown(n uint64) (sizing.Quotient, error) {
	q, err := f.shape.Grown(n)
	for err == nil && f.counts && q != f.shape {
		used, over := f.measure(q)
		if used <= q.Limit() {
			if over > q.Spill {
				q.Spill += over // so that keys to come have as much as without counts
			}
			return q, nil
		}
		q, err = q.Grown(2 * q.Blocks * uint64(q.Slots) * 9 / 10) // one doubling
	}
	return q, err
}

// measure returns how many slots the entries take in a table of another shape,
// and how many blocks they run over its last one.
func (f *Filter) measure(q sizing.Quotient) (used, over uint64) {
	t := newTable(q, nil)
	slots, end := uint64(q.Slots), uint64(0)
	w := f.walk()
	for fingerprint, e, ok := w.next(); ok; fingerprint, e, ok = w.next() {
		length := uint64(1)
		if e.count > 1 {
			c := t.encode(fingerprint&t.mask, e.count)
			length = uint64(c.length)
		}
		home := fingerprint >> t.width / sizing.QuotientsPerBlock
		end = max(end, home*slots) + length
		used += length
	}
	if last := q.Blocks * slots; end > last {
		over = (end - last + slots - 1) / slots
	}
	return used, over
}
