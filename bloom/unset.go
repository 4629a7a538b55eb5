package bloom

import "github.com/bloomery/bloomery/internal/kernel"

// Unset sets masks[i] to which bits of hs[i] AddHashes would set, for UnsetBits: who notes
// what changes calls it before. It panics if masks is shorter than hs.
func (f *Filter) Unset(masks []uint16, hs []uint64) {
	f.mustBeMade()
	kernel.Unset(masks, f.blocks, f.shape.K, hs)
}

// UnsetBits appends to dst the positions of the bits of hs that masks of Unset name: position
// p is bit p%64 of word p/64 of the encoded array.
func (f *Filter) UnsetBits(dst, hs []uint64, masks []uint16) []uint64 {
	return kernel.UnsetBits(dst, uint64(len(f.blocks)), f.shape.K, hs, masks)
}

// Unset is as Filter.Unset.
func (f *Split) Unset(masks []uint16, hs []uint64) {
	f.mustBeMade()
	kernel.UnsetSplit(masks, f.blocks, hs)
}

// UnsetBits is as Filter.UnsetBits.
func (f *Split) UnsetBits(dst, hs []uint64, masks []uint16) []uint64 {
	return kernel.UnsetBitsSplit(dst, len(f.blocks), hs, masks)
}

// masked is how many bits of a key a mask of Unset has. All others count as such that would
// be set.
const masked = 16

// Unset is as Filter.Unset.
func (f *flatSet) Unset(masks []uint16, hs []uint64) {
	if len(f.words) == 0 {
		panicZero(flatConstructors)
	}
	masks = masks[:len(hs)]
	for i, h := range hs {
		m, from := uint64(0), uint64(0)
		for j := range min(f.shape.K, masked) {
			m |= ^bit(f.words, from+probe(h, f.span)) & 1 << j
			h += probeStep
			from += f.step
		}
		masks[i] = uint16(m)
	}
}

// UnsetBits is as Filter.UnsetBits. Of keys with more than 16 bits it appends those behind them
// in any case.
func (f *flatSet) UnsetBits(dst, hs []uint64, masks []uint16) []uint64 {
	for i, h := range hs {
		from := uint64(0)
		for j := range f.shape.K {
			if j >= masked || masks[i]>>j&1 == 1 {
				dst = append(dst, from+probe(h, f.span))
			}
			h += probeStep
			from += f.step
		}
	}
	return dst
}
