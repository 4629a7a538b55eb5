package redisbloom

import (
	"encoding/binary"

	"github.com/bloomery/bloomery/internal/kernel"
)

// fetchFilters is for how many sub-filters, the newest ones, buckets are asked
// for ahead of a change.
const fetchFilters = 2

// hasGroup sets dst[i] to ContainsDigest(hs[i]), for group items at most. No
// branch depends on a single item: sub-filter by sub-filter, oldest first, those
// that were not found go on to the next.
func (c *Cuckoo) hasGroup(dst []bool, hs []uint64) {
	var at [2 * group]uint64
	var left [group]struct {
		fp    byte
		index uint8
	}
	dst = dst[:len(hs)]
	for i, h := range hs {
		dst[i] = false
		left[i].fp, left[i].index = fingerprint(h), uint8(i)
	}
	size := int(c.bucket)
	n, slots := len(hs), uint64(0)
	for k := range c.subs {
		s := &c.subs[k]
		if s.n != slots { // sub-filters of one size share their positions
			slots = s.n
			for j, it := range left[:n] {
				h := hs[it.index]
				at[2*j], at[2*j+1] = uint64(s.at(h, size)), uint64(s.at(other(h, it.fp), size))
			}
		}
		s.fetch(at[:2*n])
		rest := 0
		for j := range left[:n] {
			it, a, b := left[j], at[2*j], at[2*j+1]
			found := holds(s.data, int(a), int(b), size, it.fp)
			dst[it.index] = found != 0
			left[rest], at[2*rest], at[2*rest+1] = it, a, b
			rest += 1 - found
		}
		if n = rest; n == 0 {
			return
		}
	}
}

// holds returns 1 if v is in data[i:i+size] or in data[j:j+size], else 0: search
// without a branch for the usual sizes.
func holds(data []byte, i, j, size int, v byte) int {
	const ones = 0x01010101
	le := binary.LittleEndian
	switch size {
	case 2:
		w := uint32(le.Uint16(data[i:])) | uint32(le.Uint16(data[j:]))<<16
		return zeroByte(w ^ uint32(v)*ones)
	case 4:
		return zeroByte(le.Uint32(data[i:])^uint32(v)*ones) | zeroByte(le.Uint32(data[j:])^uint32(v)*ones)
	}
	if search(data, i, j, size, v) >= 0 {
		return 1
	}
	return 0
}

// zeroByte returns 1 if one of the four bytes of w is 0, else 0.
func zeroByte(w uint32) int {
	const ones = 0x01010101
	w = (w - ones) &^ w & (ones << 7)
	return int((w | -w) >> 31)
}

// fetch asks for bytes of s.
func (s *sub) fetch(at []uint64) {
	if len(s.data) >= fetchFrom && len(at) > 2 {
		kernel.PrefetchAt(s.data, at)
	}
}

// fetch asks for the buckets of hs, group items at most, in the newest filters of
// c.
func (c *Cuckoo) fetch(hs []uint64, filters int) {
	if !kernel.CanPrefetch() || len(hs) < 2 {
		return
	}
	var at [2 * group]uint64
	size, slots := int(c.bucket), uint64(0)
	for k := len(c.subs) - 1; k >= 0 && filters > 0; k, filters = k-1, filters-1 {
		s := &c.subs[k]
		if len(s.data) < fetchFrom {
			return // older ones are not larger
		}
		if s.n != slots {
			slots = s.n
			for i, h := range hs {
				at[2*i], at[2*i+1] = uint64(s.at(h, size)), uint64(s.at(other(h, fingerprint(h)), size))
			}
		}
		kernel.PrefetchAt(s.data, at[:2*len(hs)])
	}
}
