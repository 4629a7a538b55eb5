package bloom

import (
	"fmt"
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
	return flatSet{newFlat(base{c.Hasher, shape, uint64(c.Capacity), rate}, words)}, nil
}

// Add adds key and reports whether the filter changed. False means that the
// key was, or seemed to be, there already.
func (s *flatSet) Add(key []byte) bool { return s.AddHash(s.hasher.Hash(key)) }

// AddString is Add for a string.
func (s *flatSet) AddString(key string) bool { return s.AddHash(s.hasher.HashString(key)) }

// AddHash is Add for a key whose hash is h.
func (s *flatSet) AddHash(h uint64) bool {
	words, m, step := s.words, s.span, s.step
	if len(words) == 0 {
		panicZero(flatConstructors)
	}
	fresh, from := uint64(0), uint64(0)
	for range s.shape.K {
		at := from + probe(h, m)
		w, b := &words[at>>6], uint64(1)<<(at&63)
		fresh |= b &^ *w
		*w |= b
		h += probeStep
		from += step
	}
	return fresh != 0
}

// AddHashes adds all of hs, in order. If dst is not nil, dst[i] tells what
// AddHash(hs[i]) would have returned; it must be as long as hs.
func (s *flatSet) AddHashes(dst []bool, hs []uint64) {
	s.mustBeMade()
	if dst == nil {
		for _, h := range hs {
			s.AddHash(h)
		}
		return
	}
	dst = dst[:len(hs):len(dst)]
	for i, h := range hs {
		dst[i] = s.AddHash(h)
	}
}

// AddKeys is AddHashes for keys.
func (s *flatSet) AddKeys(dst []bool, keys [][]byte) {
	s.mustBeMade()
	if dst == nil {
		for _, key := range keys {
			s.Add(key)
		}
		return
	}
	dst = dst[:len(keys):len(dst)]
	for i, key := range keys {
		dst[i] = s.Add(key)
	}
}

// AddSeq adds all keys of seq. It does not retain them.
func (s *flatSet) AddSeq(seq iter.Seq[[]byte]) {
	s.mustBeMade()
	addSeq(s, s.hasher, batch, seq)
}

// Clear removes all keys.
func (s *flatSet) Clear() {
	s.mustBeMade()
	clear(s.words)
}

// flatConstructors is how to make what is a flatSet.
const flatConstructors = "NewStandard, NewPartitioned or a Config"

// mustBeMade panics for a zero filter.
func (s *flatSet) mustBeMade() {
	if len(s.words) == 0 {
		panicZero(flatConstructors)
	}
}

func (s *flatSet) union(o *flatSet) error {
	s.mustBeMade()
	if err := s.compatible(&o.base); err != nil {
		return fmt.Errorf("bloom: union: %w", err)
	}
	or(s.words, o.words)
	return nil
}

func (s *flatSet) intersect(o *flatSet) error {
	s.mustBeMade()
	if err := s.compatible(&o.base); err != nil {
		return fmt.Errorf("bloom: intersect: %w", err)
	}
	and(s.words, o.words)
	return nil
}

func (s *flatSet) alike(o *flatSet) (float64, error) {
	if err := s.compatible(&o.base); err != nil {
		return 0, fmt.Errorf("bloom: jaccard: %w", err)
	}
	return s.jaccard(s.words, o.words), nil
}
