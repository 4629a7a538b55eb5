package ribbon

import (
	"math/bits"
	"runtime"
)

// window is how many lookups of a batch are under way at once: enough that
// their memory accesses overlap, and 5 KiB of stack.
const window = 64

// probe is a lookup whose place is known.
type probe struct {
	lo, mid, hi uint64   // the coefficients as they fall on the blocks; rows of 64 end at mid
	print       uint64   // the fingerprint
	cols        []uint64 // the columns of the first two blocks
	last        []uint64 // those of the third, for rows of 128
}

// ContainsHashes sets dst[i] to ContainsHash(hs[i]). It panics if dst is
// shorter than hs.
//
// It goes over a number of keys three times: it finds out where their rows lie
// in the first layer of their shard, and asks memory for them; it compares
// them, eight columns without a branch; and it looks for the few that are not in the first
// layer one by one.
func (t *table) ContainsHashes(dst []bool, hs []uint64) {
	dst = dst[:len(hs)]
	if !t.layered {
		for i, h := range hs {
			dst[i] = t.ContainsHash(h)
		}
		return
	}
	for len(hs) > 0 {
		n := min(window, len(hs))
		t.lookAt(dst[:n], hs[:n])
		dst, hs = dst[n:], hs[n:]
	}
}

// lookAt is ContainsHashes for at most one window.
func (t *table) lookAt(dst []bool, hs []uint64) {
	var probes [window]probe
	var bumped [window]uint8
	var count int
	if t.w.bits == 64 {
		count = t.aim64(&probes, &bumped, hs)
		for i := range dst {
			dst[i] = probes[i&(window-1)].compare64()
		}
	} else {
		count = t.aim128(&probes, &bumped, hs)
		for i := range dst {
			dst[i] = probes[i&(window-1)].compare128()
		}
	}
	for _, i := range bumped[:count] {
		dst[i] = t.hasFrom(t.shardOf(hs[i]), 1, bump(hs[i]))
	}
}

// aim64 sets the probes of hs in the first layer of their shards, and returns
// how many keys are not there; bumped tells which.
func (t *table) aim64(probes *[window]probe, bumped *[window]uint8, hs []uint64) (count int) {
	var touched uint64
	for i, h := range hs {
		l := &t.shardOf(h).layers[0]
		start := startOf(h, l.starts)
		x := row64(h)
		block, off := int(start/blockSlots), start%blockSlots
		at, n := l.at(block, t.r), l.columns(block, t.r)
		p := &probes[i&(window-1)]
		p.lo = x.lo << (off & 63)
		p.mid = x.lo >> 1 >> (63 - off&63)
		p.print = uint64(x.print)
		p.cols = l.cols[at:][:2*n]
		// To read a word is the only way to ask for its cache line in Go.
		touched ^= p.cols[0] ^ p.cols[n] ^ p.cols[2*n-1]

		bumped[count&(window-1)] = uint8(i)
		if !l.keeps(start, t.w) {
			count++
		}
	}
	runtime.KeepAlive(touched)
	return count
}

// aim128 is aim64 for rows of 128.
func (t *table) aim128(probes *[window]probe, bumped *[window]uint8, hs []uint64) (count int) {
	var touched uint64
	for i, h := range hs {
		l := &t.shardOf(h).layers[0]
		start := startOf(h, l.starts)
		x := row128(h)
		block, off := int(start/blockSlots), start%blockSlots
		at, n := l.at(block, t.r), l.columns(block, t.r)
		p := &probes[i&(window-1)]
		p.lo = x.lo << (off & 63)
		p.mid = x.hi<<(off&63) | x.lo>>1>>(63-off&63)
		p.hi = x.hi >> 1 >> (63 - off&63)
		p.print = uint64(x.print)
		p.cols = l.cols[at:][:2*n]
		p.last = l.cols[l.at(block+2, t.r):][:n]
		touched ^= p.cols[0] ^ p.cols[n] ^ p.last[0] ^ p.last[n-1]

		bumped[count&(window-1)] = uint8(i)
		if !l.keeps(start, t.w) {
			count++
		}
	}
	runtime.KeepAlive(touched)
	return count
}

// compare64 reports whether a row of 64 gives its fingerprint. It decides only
// once in eight columns: nearly all absent keys end there, so that those with
// many columns take no longer.
func (p *probe) compare64() bool {
	n := len(p.cols) / 2
	a, b := p.cols[:n], p.cols[n:]
	lo, mid, v := p.lo, p.mid, p.print
	var d uint64
	for len(a) >= 8 && len(b) >= 8 {
		d |= uint64(bits.OnesCount64(a[0]&lo^b[0]&mid)) ^ v
		d |= uint64(bits.OnesCount64(a[1]&lo^b[1]&mid)) ^ v>>1
		d |= uint64(bits.OnesCount64(a[2]&lo^b[2]&mid)) ^ v>>2
		d |= uint64(bits.OnesCount64(a[3]&lo^b[3]&mid)) ^ v>>3
		d |= uint64(bits.OnesCount64(a[4]&lo^b[4]&mid)) ^ v>>4
		d |= uint64(bits.OnesCount64(a[5]&lo^b[5]&mid)) ^ v>>5
		d |= uint64(bits.OnesCount64(a[6]&lo^b[6]&mid)) ^ v>>6
		d |= uint64(bits.OnesCount64(a[7]&lo^b[7]&mid)) ^ v>>7
		if d&1 != 0 {
			return false
		}
		a, b, v = a[8:], b[8:], v>>8
	}
	if len(a) >= 4 && len(b) >= 4 {
		d |= uint64(bits.OnesCount64(a[0]&lo^b[0]&mid)) ^ v
		d |= uint64(bits.OnesCount64(a[1]&lo^b[1]&mid)) ^ v>>1
		d |= uint64(bits.OnesCount64(a[2]&lo^b[2]&mid)) ^ v>>2
		d |= uint64(bits.OnesCount64(a[3]&lo^b[3]&mid)) ^ v>>3
		a, b, v = a[4:], b[4:], v>>4
	}
	for j := range min(len(a), len(b)) {
		d |= uint64(bits.OnesCount64(a[j]&lo^b[j]&mid)) ^ v
		v >>= 1
	}
	return d&1 == 0
}

// compare128 reports whether a row of 128 gives its fingerprint.
func (p *probe) compare128() bool {
	n := len(p.cols) / 2
	a, b, c := p.cols[:n], p.cols[n:], p.last
	lo, mid, hi, v := p.lo, p.mid, p.hi, p.print
	var d uint64
	for len(a) >= 8 && len(b) >= 8 && len(c) >= 8 {
		d |= uint64(bits.OnesCount64(a[0]&lo^b[0]&mid^c[0]&hi)) ^ v
		d |= uint64(bits.OnesCount64(a[1]&lo^b[1]&mid^c[1]&hi)) ^ v>>1
		d |= uint64(bits.OnesCount64(a[2]&lo^b[2]&mid^c[2]&hi)) ^ v>>2
		d |= uint64(bits.OnesCount64(a[3]&lo^b[3]&mid^c[3]&hi)) ^ v>>3
		d |= uint64(bits.OnesCount64(a[4]&lo^b[4]&mid^c[4]&hi)) ^ v>>4
		d |= uint64(bits.OnesCount64(a[5]&lo^b[5]&mid^c[5]&hi)) ^ v>>5
		d |= uint64(bits.OnesCount64(a[6]&lo^b[6]&mid^c[6]&hi)) ^ v>>6
		d |= uint64(bits.OnesCount64(a[7]&lo^b[7]&mid^c[7]&hi)) ^ v>>7
		if d&1 != 0 {
			return false
		}
		a, b, c, v = a[8:], b[8:], c[8:], v>>8
	}
	if len(a) >= 4 && len(b) >= 4 && len(c) >= 4 {
		d |= uint64(bits.OnesCount64(a[0]&lo^b[0]&mid^c[0]&hi)) ^ v
		d |= uint64(bits.OnesCount64(a[1]&lo^b[1]&mid^c[1]&hi)) ^ v>>1
		d |= uint64(bits.OnesCount64(a[2]&lo^b[2]&mid^c[2]&hi)) ^ v>>2
		d |= uint64(bits.OnesCount64(a[3]&lo^b[3]&mid^c[3]&hi)) ^ v>>3
		a, b, c, v = a[4:], b[4:], c[4:], v>>4
	}
	for j := range min(len(a), len(b), len(c)) {
		d |= uint64(bits.OnesCount64(a[j]&lo^b[j]&mid^c[j]&hi)) ^ v
		v >>= 1
	}
	return d&1 == 0
}
