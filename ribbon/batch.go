package ribbon

import (
	"math/bits"
	"runtime"

	"github.com/bloomery/bloomery"
)

const (
	// window is how many lookups of a batch are under way at once: enough that
	// their memory accesses overlap.
	window = 64
	// fewKeys is how many keys are not worth a window.
	fewKeys = 4
)

// place is where a key is looked for.
type place struct {
	start uint64
	shard uint32
}

// ContainsHashes sets dst[i] to ContainsHash(hs[i]). It panics if dst is
// shorter than hs.
//
// It goes over a number of keys three times: it finds out where their rows lie
// in the first layer of their shard, and asks memory for them; it compares
// them, eight columns without a branch; and it looks for the few that are not
// in the first layer one by one.
func (f *table) ContainsHashes(dst []bool, hs []uint64) {
	dst = dst[:len(hs):len(dst)]
	if !f.layered || len(hs) <= fewKeys {
		for i, h := range hs {
			dst[i] = f.ContainsHash(h)
		}
		return
	}
	var places [window]place
	for len(hs) > 0 {
		n := min(window, len(hs))
		f.aim(&places, hs[:n])
		f.lookAt(dst[:n], hs[:n], &places)
		dst, hs = dst[n:], hs[n:]
	}
}

// aim finds the places of keys in the first layer of their shards. It does as
// little as it can for each, so that many accesses to memory are under way.
func (f *table) aim(places *[window]place, hs []uint64) {
	var touched uint64
	reach := (f.w.words() + 1) * f.r
	for i, h := range hs {
		shard := 0
		if f.bits > 0 {
			shard = bloomery.Route(h, f.bits)
		}
		l := &f.shards[shard].layers[0]
		start := startOf(h, l.starts)
		places[i&(window-1)] = place{start, uint32(shard)}
		// To read a word is the only way to ask for its cache line in Go.
		at := l.at(int(start/blockSlots), f.r)
		cols := l.cols[at:][:reach]
		touched ^= cols[0] ^ cols[f.r] ^ cols[reach-f.r] ^ cols[reach-1]
	}
	runtime.KeepAlive(touched)
}

// lookAt answers for the keys of one window.
func (f *table) lookAt(dst []bool, hs []uint64, places *[window]place) {
	var bumped [window]uint8
	count := 0
	for i, h := range hs {
		p := &places[i&(window-1)]
		l := &f.shards[p.shard].layers[0]
		bumped[count&(window-1)] = uint8(i)
		if !l.keeps(p.start, f.w) {
			count++
		}
		if f.w.bits == 64 {
			dst[i] = l.compare64(h, p.start, f.r)
		} else {
			dst[i] = l.compare128(h, p.start, f.r)
		}
	}
	for _, i := range bumped[:count] {
		dst[i] = f.hasFrom(f.shardOf(hs[i]), 1, bump(hs[i]))
	}
}

// compare64 is match64 with a branch in eight columns only: nearly all absent
// keys end there, so that those with many columns take no longer.
func (l *layer) compare64(h, start uint64, r int) bool {
	x := row64(h)
	block, off := int(start/blockSlots), start%blockSlots
	lo, mid := x.lo<<(off&63), x.lo>>1>>(63-off&63)
	at, n := l.at(block, r), l.columns(block, r)
	cols := l.cols[at:][:2*n]
	a, b := cols[:n], cols[n:]
	v := uint64(x.print)
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
	for j := range min(len(a), len(b)) {
		d |= uint64(bits.OnesCount64(a[j]&lo^b[j]&mid)) ^ v
		v >>= 1
	}
	return d&1 == 0
}

// compare128 is match128 with a branch in eight columns only.
func (l *layer) compare128(h, start uint64, r int) bool {
	x := row128(h)
	block, off := int(start/blockSlots), start%blockSlots
	lo := x.lo << (off & 63)
	mid := x.hi<<(off&63) | x.lo>>1>>(63-off&63)
	hi := x.hi >> 1 >> (63 - off&63)
	at, n := l.at(block, r), l.columns(block, r)
	cols := l.cols[at:][:2*n]
	a, b, c := cols[:n], cols[n:], l.cols[l.at(block+2, r):][:n]
	v := uint64(x.print)
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
	for j := range min(len(a), len(b), len(c)) {
		d |= uint64(bits.OnesCount64(a[j]&lo^b[j]&mid^c[j]&hi)) ^ v
		v >>= 1
	}
	return d&1 == 0
}
