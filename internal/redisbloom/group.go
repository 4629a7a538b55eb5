package redisbloom

import "github.com/bloomery/bloomery/internal/kernel"

// Batches are worked off in groups. The memory of a group is asked for before it
// is read: a key's bits lie apart from each other, and fetching them one after
// the other is most of the time that a large filter takes.

const (
	// group is how many items are looked at together. Their bits have to stay
	// in the first cache until they are read.
	group = 16
	// fetchFrom is the size from which an array is asked for ahead: a smaller
	// one is in the second cache anyway.
	fetchFrom = 256 << 10
	// fetchMost is how many bits of an item are asked for at most.
	fetchMost = 16
	// firstProbes is how many bits of an item are looked at before the others
	// are fetched: few absent items have all of them.
	firstProbes = 4
)

// fetch asks for bits of ds in l.
func (l *layer) fetch(ds []Digest, bits uint32) {
	if len(l.data) < fetchFrom || len(ds) < 2 {
		return
	}
	kernel.PrefetchBits(l.data, l.mod, l.inv, &ds[0].A, len(ds), int(min(bits, fetchMost)))
}

// hasGroup sets dst[i] to has(ds[i]), for group items at most. No branch depends
// on a single item: first come a few bits of all, then the rest of those that had
// them.
func (l *layer) hasGroup(dst []bool, ds []Digest) {
	data, m, inv := l.data, l.mod, l.inv
	if l.hashes < firstProbes || len(data) == 0 || len(ds) == 1 {
		for i, d := range ds {
			dst[i] = l.has(d)
		}
		return
	}
	var rest [group]Digest
	var index [group]uint8
	dst = dst[:len(ds)]
	l.fetch(ds, firstProbes)
	n := 0
	for i, d := range ds {
		p0 := rem(d.A, m, inv)
		p1 := rem(d.A+d.B, m, inv)
		p2 := rem(d.A+2*d.B, m, inv)
		p3 := rem(d.A+3*d.B, m, inv)
		all := data[p0>>3] >> (p0 & 7) & (data[p1>>3] >> (p1 & 7)) & (data[p2>>3] >> (p2 & 7)) & (data[p3>>3] >> (p3 & 7)) & 1
		dst[i] = false
		index[n%group] = uint8(i)
		rest[n%group] = Digest{d.A + firstProbes*d.B, d.B}
		n += int(all)
	}
	l.fetch(rest[:n], l.hashes-firstProbes)
	for j, d := range rest[:n] {
		dst[index[j]] = l.hasFrom(d, l.hashes-firstProbes)
	}
}

// olderHasGroup sets dst[i], where it is false, to whether an older layer has
// ds[i], for group items at most.
func (b *Bloom) olderHasGroup(dst []bool, ds []Digest) {
	var rest [group]Digest
	var index [group]uint8
	var found [group]bool
	n := 0
	for i, d := range ds {
		if !dst[i] {
			rest[n], index[n] = d, uint8(i)
			n++
		}
	}
	older := *b.older
	for k := len(older) - 1; k >= 0 && n > 0; k-- {
		older[k].hasGroup(found[:n], rest[:n])
		left := 0
		for j := range rest[:n] {
			dst[index[j]] = found[j]
			if !found[j] {
				rest[left], index[left] = rest[j], index[j]
				left++
			}
		}
		n = left
	}
}
