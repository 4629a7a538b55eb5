package bloom

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/fields"
	"github.com/bloomery/bloomery/internal/kernel"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/internal/shards"
	"github.com/bloomery/bloomery/sizing"
)

// Builder makes a filter of keys whose number is not known before all of them have come: in
// one pass, and in the memory of the array for Config.Max keys.
//
//	b, err := bloom.Config{Max: 100_000_000, ErrorRate: 0.01}.NewBuilder()
//	for key := range keys {
//		b.Add(key)
//	}
//	f, err := b.Build()
//
// It keeps the hashes of the keys as long as they fit; a filter of these is as small as one
// that is made for their number. Then it fills the array for Max keys, and at the end folds
// it by the largest divisor that keeps the rate: bit for bit the filter of that many blocks
// with the same keys. Such a filter is up to 1 + 1/f as large as one made for its number of
// keys, where f is Max over that number, rounded down: 1.15 times if Max is 7 times the keys
// or more and the array for Max has a MiB, and a little over twice at worst, with just more
// than half of Max. No array of that size can be cut to others, see ADR 55. So Max may be
// generous: it costs memory while the filter is built, and nothing afterwards.
//
// If the memory is known rather than the keys, give Bits instead of Max, the most that the array
// may take: Max is then what it holds at the rate.
//
// More keys than Max are added as well, and raise the false positive rate: look at Full, or at
// Stats of the filter.
//
// A writer needs exclusion.
type Builder[F interface{ *Filter | *Standard | *Split }] struct {
	building
	open func(b base, words []uint64) F
}

// NewBuilder returns a Builder of a Filter. Of c only Max or Bits, ErrorRate, Headroom, Hasher
// and Alloc may be set. Errors wrap ErrParameter or ErrTooLarge, or are those of Alloc.
func (c Config) NewBuilder() (*Builder[*Filter], error) {
	b, err := c.building("NewBuilder", sizing.Blocked)
	if err != nil {
		return nil, fmt.Errorf("bloom: new builder: %w", err)
	}
	return &Builder[*Filter]{b, func(b base, words []uint64) *Filter { return &Filter{lines{b, kernel.Blocks(words)}} }}, nil
}

// NewStandardBuilder is NewBuilder for a Standard. It keeps hashes of up to a ninetieth of Max.
func (c Config) NewStandardBuilder() (*Builder[*Standard], error) {
	b, err := c.building("NewStandardBuilder", sizing.Standard)
	if err != nil {
		return nil, fmt.Errorf("bloom: new builder: %w", err)
	}
	return &Builder[*Standard]{b, func(b base, words []uint64) *Standard { return &Standard{flatSet{newFlat(b, words)}} }}, nil
}

// NewSplitBuilder is NewBuilder for a Split. The number of its blocks is a power of two,
// which some readers of Parquet files ask for, so it is up to twice as large as needed.
func (c Config) NewSplitBuilder() (*Builder[*Split], error) {
	b, err := c.building("NewSplitBuilder", sizing.Split)
	if err != nil {
		return nil, fmt.Errorf("bloom: new builder: %w", err)
	}
	return &Builder[*Split]{b, func(b base, words []uint64) *Split { return &Split{halves{b, kernel.SplitBlocks(words)}} }}, nil
}

// Add adds key. It panics after Build.
func (b *Builder[F]) Add(key []byte) { b.AddHash(b.most.hasher.Hash(key)) }

// AddString is Add for a string.
func (b *Builder[F]) AddString(key string) { b.AddHash(b.most.hasher.HashString(key)) }

// AddHash is Add for a key whose hash is h.
func (b *Builder[F]) AddHash(h uint64) {
	hs := [1]uint64{h}
	b.AddHashes(hs[:])
}

// AddHashes is AddHash for many. It does not retain hs.
func (b *Builder[F]) AddHashes(hs []uint64) {
	if b.words == nil {
		panic("bloom: no builder, or its filter is built: make another with NewBuilder")
	}
	for !b.filled && len(hs) > 0 {
		n := min(len(hs), b.limit-len(b.list))
		b.list = append(b.list, hs[:n]...)
		if hs = hs[n:]; len(b.list) == b.limit {
			b.makeRoom()
		}
	}
	b.count(hs)
}

// Full reports whether more keys have come than the array holds at the rate asked for: the false
// positive rate of the filter will be higher. It counts each key once.
func (b *Builder[F]) Full() bool { return b.counted > b.holds }

// Build returns the filter of all keys that were added, which ends the Builder. A filter that
// was folded lies in the memory that it was built in, and holds all of it: Clone one that
// stays for long. The error wraps ErrParameter if Build was called before, and is that of
// Alloc.
func (b *Builder[F]) Build() (F, error) {
	if b.words == nil {
		return nil, fmt.Errorf("bloom: build: %w: the filter is built, make another Builder", bloomery.ErrParameter)
	}
	finish := b.exact
	if !b.filled {
		b.makeRoom()
	}
	if b.filled {
		finish = b.folded
	}
	of, words, err := finish()
	if err != nil {
		return nil, fmt.Errorf("bloom: build: %w", err)
	}
	b.words, b.list = nil, nil
	return b.open(of, words), nil
}

// building is a Builder without the type of its filter.
//
// The blocks of a Filter and of a Split are in the order of the hashes. So the hashes wait at
// the end of the array, and when there are too many of them they are sorted and become bits
// from the first to the last: the block of a hash does not lie behind its own place.
//
//	before  [        | hashes, up to 7/8                ]
//	during  [ blocks of bits |     hashes, sorted       ]
//	after   [ blocks of bits                            ]
//
// The bits of a Standard lie anywhere. Its hashes wait at the end of the array as well, but so
// few that most of them have no bit there and can go at once, see turnFlat.
type building struct {
	most     base // of the filter for Max keys
	alloc    memory.Alloc
	headroom int
	words    []uint64 // the array
	list     []uint64 // hashes that wait
	beside   bool     // they do so in memory of their own, since the array is too small
	limit    int      // how many of them there is room for
	kept     int      // how many of them leave room for a filter of theirs
	filled   bool     // none waits any more
	counted  uint64   // different keys, but for false positives of the array
	holds    uint64   // keys that the array holds at the rate
}

const (
	// The part of the array that hashes take at the end of it, and the part of their room that
	// those take which came once if there is to be room for more.
	listShare, listOf = 7, 8
	// leastList is the least room for hashes.
	leastList = 64
)

// building returns what a Builder starts with.
func (c Config) building(constructor string, layout sizing.Layout) (building, error) {
	if err := fields.Only(c, constructor, "Max", "Bits", "ErrorRate", "Headroom", "Hasher", "Alloc"); err != nil {
		return building{}, err
	}
	if c.Bits != 0 {
		if err := c.setMax(layout); err != nil {
			return building{}, err
		}
	}
	if c.Max < 1 {
		return building{}, fmt.Errorf("%w: Max is %d, not 1 or more", bloomery.ErrParameter, c.Max)
	}
	if _, err := sizing.WithHeadroom(1, c.Headroom); err != nil {
		return building{}, errors.Unwrap(err)
	}
	shape, err := mostShape(layout, uint64(c.Max), c.ErrorRate)
	if err != nil {
		return building{}, errors.Unwrap(err)
	}
	if err := memory.Fits(shape.Bits / 8); err != nil {
		return building{}, err
	}
	words, err := memory.Array(int(wordsFor(shape.Bits)), c.Alloc)
	if err != nil {
		return building{}, err
	}
	b := building{
		most:  base{hasher: c.Hasher, shape: shape, capacity: uint64(c.Max), rate: c.ErrorRate},
		alloc: c.Alloc, headroom: c.Headroom, words: words,
	}
	b.holds = mostKeys(shape, c.ErrorRate, uint64(c.Max), 2*uint64(c.Max)+leastList)
	b.limit = len(words) * listShare / listOf
	if layout == sizing.Standard {
		b.limit = len(words) / (2 * shape.K) // half of the hashes have a bit there at most
	}
	if b.beside = b.limit < leastList && layout == sizing.Standard; b.beside {
		b.limit, b.list = leastList, make([]uint64, 0, leastList)
	} else {
		b.list = words[len(words)-b.limit:][:0]
	}
	filter := float64(shape.Bits) / 64 / float64(c.Max) * (1 + float64(c.Headroom)/100) // words for a key
	b.kept = min(b.limit*listShare/listOf, max(int(float64(len(words))/(1+filter)), leastList))
	return b, nil
}

// setMax sets Max to the most keys whose array takes Bits at most.
func (c *Config) setMax(layout sizing.Layout) error {
	if c.Max != 0 {
		return fmt.Errorf("%w: both Max and Bits are set", bloomery.ErrParameter)
	}
	least, above := uint64(0), min(c.Bits, math.MaxInt)
	for above-least > 1 {
		n := least + (above-least)/2
		shape, err := mostShape(layout, n, c.ErrorRate)
		switch {
		case errors.Is(err, bloomery.ErrParameter):
			return errors.Unwrap(err)
		case err == nil && shape.Bits <= c.Bits:
			least = n
		default:
			above = n
		}
	}
	if least == 0 {
		return fmt.Errorf("%w: Bits is %d, too few for a key", bloomery.ErrParameter, c.Bits)
	}
	c.Max = int(least)
	return nil
}

// divisible are numbers with many divisors: 840 has all up to 8, which hashes leave to be folded
// by, and 720720 all up to 16 and many beyond.
var divisible = []uint64{720720, 55440, 27720, 5040, 2520, 840, 420, 120, 60, 24, 12, 4, 2}

// mostShape returns the array for n keys, of a size that has many divisors and is at most 1/16
// larger for that. That of a Split is a power of two.
func mostShape(layout sizing.Layout, n uint64, p float64) (sizing.Shape, error) {
	s, err := layout.Size(n, p)
	if err != nil {
		return s, err
	}
	unit := layout.Unit()
	if layout == sizing.Blocked && s.K != foldHashes {
		s.K = foldHashes
		s.Bits = leastUnits(unit, func(m uint64) bool {
			return sizing.Shape{Layout: layout, Bits: m, K: foldHashes}.Rate(float64(n)) <= p
		})
	}
	units := s.Bits / unit
	if layout == sizing.Split {
		s.Bits = powerOfTwo(units) * unit
		return s, s.Valid()
	}
	for _, d := range divisible {
		if 16*d <= units {
			units += (d - units%d) % d
			break
		}
	}
	s.Bits = units * unit
	return s, s.Valid()
}

// powerOfTwo returns the least power of two that is not less than n, which is not 0.
func powerOfTwo(n uint64) uint64 { return 1 << bits.Len64(n-1) }

// makeRoom sorts the hashes that wait and drops those that came twice. It goes over to bits if
// they still are so many that there would be no room for a filter of them beside them.
func (b *building) makeRoom() {
	b.list = shards.Dedupe(b.list)
	if len(b.list) <= b.kept {
		return
	}
	list := b.list
	b.filled, b.counted, b.list = true, uint64(len(list)), nil
	if b.beside {
		b.set(nil, list)
		return
	}
	at := len(b.words) - len(list)
	copy(b.words[at:], list)
	clear(b.words[len(b.words)-b.limit : at])
	if b.most.shape.Layout == sizing.Standard {
		b.turnFlat(at)
	} else {
		b.turn(at)
	}
}

// turn makes bits of the sorted hashes that wait in the array from word at on. The last few
// blocks reach behind the hashes that are next, which are put aside for that: more than few only
// if the hashes are not well mixed.
func (b *building) turn(at int) {
	var hs [batch]uint64
	for at < len(b.words) {
		n := copy(hs[:], b.words[at:])
		clear(b.words[at : at+n])
		at += n
		if b.blockEnd(hs[n-1]) > at {
			b.turnAside(at)
			at = len(b.words)
		}
		b.set(nil, hs[:n])
	}
}

// turnFlat is turn for a Standard. Bits before the hashes are set at once, and only hashes with
// a bit behind stay, at the end: two of five, and then half of those, again and again.
func (b *building) turnFlat(at int) {
	f := newFlat(b.most, b.words)
	for left := len(b.words) - at; left > batch; {
		before := at
		at = len(b.words)
		for i := len(b.words) - 1; i >= before; i-- {
			if h := b.words[i]; f.setBefore(h, before) {
				at--
				b.words[at] = h
			}
		}
		clear(b.words[before:at])
		if len(b.words)-at > left/4*3 {
			break // hashes that are not well mixed
		}
		left = len(b.words) - at
	}
	b.turnAside(at)
}

// turnAside is turn with the hashes in other memory.
func (b *building) turnAside(at int) {
	aside := slices.Clone(b.words[at:])
	clear(b.words[at:])
	b.set(nil, aside)
}

// blockEnd returns the word behind the block of a hash.
func (b *building) blockEnd(h uint64) int {
	if b.most.shape.Layout == sizing.Split {
		return int(kernel.SplitBlockOf(b.most.shape.Bits/sizing.SplitBits, h)+1) * halfWords
	}
	return int(kernel.BlockOf(b.most.shape.Bits/sizing.BlockBits, h)+1) * lineWords
}

// count sets the bits of hashes in the array, and counts those that it did not have.
func (b *building) count(hs []uint64) {
	var changed [batch]bool
	for len(hs) > 0 {
		n := min(len(hs), batch)
		b.set(changed[:n], hs[:n])
		for _, fresh := range changed[:n] {
			if fresh {
				b.counted++
			}
		}
		hs = hs[n:]
	}
}

// set sets the bits of hashes in the array. If dst is not nil, it says which of them changed it.
func (b *building) set(dst []bool, hs []uint64) {
	switch b.most.shape.Layout {
	case sizing.Blocked:
		kernel.SetAll(dst, kernel.Blocks(b.words), b.most.shape.K, hs)
	case sizing.Split:
		kernel.SetAllSplit(dst, kernel.SplitBlocks(b.words), hs)
	default:
		f := flatSet{newFlat(b.most, b.words)}
		f.AddHashes(dst, hs)
	}
}

// exact returns base and array of the filter of the hashes that wait, for their number.
func (b *building) exact() (base, []uint64, error) {
	c := b.most
	n, err := sizing.WithHeadroom(max(uint64(len(b.list)), 1), b.headroom)
	if err == nil {
		c.capacity = n
		c.shape, err = c.shape.Layout.Size(n, c.rate)
	}
	if err != nil {
		return base{}, nil, errors.Unwrap(err)
	}
	if c.shape.Layout == sizing.Split {
		c.shape.Bits = powerOfTwo(c.shape.Bits/sizing.SplitBits) * sizing.SplitBits
		c.capacity = mostKeys(c.shape, c.rate, n, math.MaxInt64)
	}
	words, err := memory.Array(int(wordsFor(c.shape.Bits)), b.alloc)
	if err != nil {
		return base{}, nil, err
	}
	small := building{most: c, words: words}
	small.set(nil, b.list)
	return c, words, nil
}

// folded returns base and array of the smallest filter that the array can be folded to and
// that keeps the rate. It folds the array where it lies.
func (b *building) folded() (base, []uint64, error) {
	c := b.most
	keys := min(max(c.estimate(b.words), b.counted), c.shape.Bits) // a full array answers any number
	n, err := sizing.WithHeadroom(keys, b.headroom)
	if err != nil {
		return base{}, nil, errors.Unwrap(err)
	}
	by := c.mostFolds(n)
	if by == 1 {
		return c, b.words, nil
	}
	c.shape.Bits /= by
	c.capacity = mostKeys(c.shape, c.rate, n, max(n, c.capacity)+1)
	words := b.words[:wordsFor(c.shape.Bits)]
	switch c.shape.Layout {
	case sizing.Blocked:
		foldBlocks(words, b.words, lineWords, int(by))
	case sizing.Split:
		foldBlocks(words, b.words, halfWords, int(by))
	default:
		for i, word := range b.words {
			b.words[i] = 0
			foldWord(b.words, i, word, by)
		}
	}
	return c, slices.Clip(words), nil
}

// mostFolds returns the largest number that the filter can be folded by and still holds n keys
// at its rate; 1 if there is none. It looks as far as any list of hashes is behind Max.
func (f *base) mostFolds(n uint64) uint64 {
	const far = 1 << 16
	most, units := uint64(1), f.shape.Bits/f.shape.Layout.Unit()
	for by := uint64(2); by <= min(units, far); by++ {
		if units%by != 0 {
			continue
		}
		s := f.shape
		s.Bits /= by
		if s.Layout == sizing.Standard && s.Bits < sizing.MinBits || s.Rate(float64(n)) > f.rate {
			break
		}
		most = by
	}
	return most
}
