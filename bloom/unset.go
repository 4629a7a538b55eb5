package bloom

import "github.com/bloomery/bloomery/internal/kernel"

// Unset appends to dst the positions of the bits that AddHashes would set, for who notes what
// changes: position p is bit p%64 of word p/64 of the encoded array. One that several
// hashes share may be there as often.
func (f *Filter) Unset(dst, hs []uint64) []uint64 {
	f.mustBeMade()
	return kernel.Unset(dst, f.blocks, f.shape.K, hs)
}

// Unset appends to dst the positions of the bits that AddHashes would set, as Filter.Unset does.
func (f *Split) Unset(dst, hs []uint64) []uint64 {
	f.mustBeMade()
	return kernel.UnsetSplit(dst, f.blocks, hs)
}

// Unset appends to dst the positions of the bits that AddHashes would set, as Filter.Unset does.
func (f *flatSet) Unset(dst, hs []uint64) []uint64 {
	if len(f.words) == 0 {
		panicZero(flatConstructors)
	}
	for _, h := range hs {
		from := uint64(0)
		for range f.shape.K {
			at := from + probe(h, f.span)
			if bit(f.words, at)&1 == 0 {
				dst = append(dst, at)
			}
			h += probeStep
			from += f.step
		}
	}
	return dst
}
