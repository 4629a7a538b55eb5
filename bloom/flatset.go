package bloom

import (
	"iter"

	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/sizing"
)

// flatSet is a flat array that keys are added to: what Standard and
// Partitioned share.
type flatSet struct{ flat }

// newFlatSet makes the array of a filter with this layout.
func (c Config) newFlatSet(layout sizing.Layout) (flatSet, error) {
	shape, rate, err := c.foldable(layout)
	if err != nil {
		return flatSet{}, err
	}
	words, err := memory.Array(int(wordsFor(shape.Bits)), c.Alloc)
	if err != nil {
		return flatSet{}, err
	}
	return flatSet{newFlat(base{hasher: c.Hasher, shape: shape, capacity: uint64(c.Capacity), rate: rate}, words)}, nil
}

// Add adds key and reports whether the filter changed. False means that the
// key was, or seemed to be, there already.
func (f *flatSet) Add(key []byte) bool { return f.AddHash(f.hasher.Hash(key)) }

// AddString is Add for a string.
func (f *flatSet) AddString(key string) bool { return f.AddHash(f.hasher.HashString(key)) }

// AddHash is Add for a key whose hash is h.
func (f *flatSet) AddHash(h uint64) bool {
	words, m, step := f.words, f.span, f.step
	if len(words) == 0 {
		panicZero(flatConstructors)
	}
	fresh, from := uint64(0), uint64(0)
	for range f.shape.K {
		at := from + probe(h, m)
		w, b := &words[at>>6], uint64(1)<<(at&63)
		fresh |= b &^ *w
		*w |= b
		h += probeStep
		from += step
	}
	return fresh != 0
}

// setBefore sets the bits of a hash that lie before a word of a Standard, and reports whether
// there are others.
func (f *flat) setBefore(h uint64, word int) (more bool) {
	for range f.shape.K {
		at := probe(h, f.span)
		if at>>6 < uint64(word) {
			f.words[at>>6] |= 1 << (at & 63)
		} else {
			more = true
		}
		h += probeStep
	}
	return more
}

// AddHashes adds all of hs, in order. If dst is not nil, dst[i] is what
// AddHash(hs[i]) would have returned; it panics if dst is then shorter than hs.
func (f *flatSet) AddHashes(dst []bool, hs []uint64) {
	f.mustBeMade()
	if dst == nil {
		for _, h := range hs {
			f.AddHash(h)
		}
		return
	}
	dst = dst[:len(hs):len(dst)]
	for i, h := range hs {
		dst[i] = f.AddHash(h)
	}
}

// AddKeys is AddHashes for keys.
func (f *flatSet) AddKeys(dst []bool, keys [][]byte) {
	f.mustBeMade()
	if dst == nil {
		for _, key := range keys {
			f.Add(key)
		}
		return
	}
	dst = dst[:len(keys):len(dst)]
	for i, key := range keys {
		dst[i] = f.Add(key)
	}
}

// AddStrings is AddHashes for strings.
func (f *flatSet) AddStrings(dst []bool, keys []string) {
	f.mustBeMade()
	if dst == nil {
		for _, key := range keys {
			f.AddString(key)
		}
		return
	}
	dst = dst[:len(keys):len(dst)]
	for i, key := range keys {
		dst[i] = f.AddString(key)
	}
}

// AddSeq adds all keys of seq. It does not retain them.
func (f *flatSet) AddSeq(seq iter.Seq[[]byte]) {
	f.mustBeMade()
	addSeq(f, f.hasher, batch, seq)
}

// Clear removes all keys.
func (f *flatSet) Clear() {
	f.mustBeMade()
	clear(f.words)
}

// flatConstructors is how to make what is a flatSet.
const flatConstructors = "NewStandard, NewPartitioned or a Config"

// mustBeMade panics for a zero filter.
func (f *flatSet) mustBeMade() {
	if len(f.words) == 0 {
		panicZero(flatConstructors)
	}
}
