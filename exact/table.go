package exact

import (
	"math/bits"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/ribbon"
)

// noJSON refuses JSON, and is no field that can be seen.
type noJSON = envelope.NoJSON

// batch is how many keys are hashed before their hashes are looked up.
const batch = 256

// table is all that Filter and its view know.
type table struct {
	noJSON
	hasher    hashing.Hasher
	in, out   uint64 // keys
	asked     float64
	extra     uint32 // of the header
	predicted float64
	classes   []byte           // of groups
	kinds     uint64           // which filters groups have, a bit for each
	special   special          // what groups do without one
	filters   []*ribbon.Filter // the first stage, one for each rate
	bits      *ribbon.Map      // the second stage; nil if no group has one
	first     *ribbon.Filter   // of the one group that there is, if it has one
	words     []uint64         // the payload
}

// special says which classes without a filter there are.
type special struct{ byBit, allIn bool }

// Hash returns the filter's hash of key.
func (f *table) Hash(key []byte) uint64 { return f.hasher.Hash(key) }

// Hasher returns the hasher of the filter.
func (f *table) Hasher() hashing.Hasher { return f.hasher }

// Groups returns the number of groups, 1 unless the filter was built of several.
func (f *table) Groups() int { return len(f.classes) }

// Out returns how many keys were out when the filter was built, as often as they
// came.
func (f *table) Out() uint64 { return f.out }

// RateIn returns the rate at which a key that is neither in nor out is taken for in
// if it is asked for in a group. It is 0 for a group that is not there.
func (f *table) RateIn(group int) float64 {
	if group < 0 || group >= len(f.classes) {
		return 0
	}
	return f.rateOf(f.classes[group])
}

// Empty reports whether no key is in in a group, as in one that is not there.
func (f *table) Empty(group int) bool {
	return group < 0 || group >= len(f.classes) || f.classes[group] == noneIn
}

// rateOf is RateIn for a class. A bit of the second stage is 1 for half of the keys
// that nobody put there, but for those that a list has, which are nobody else's.
func (f *table) rateOf(class byte) float64 {
	switch class {
	case noneIn:
		return 0
	case allIn:
		return 1
	case byBit:
		return f.bits.Stats().Predicted / 2
	default:
		return f.filters[class].Stats().Predicted * f.bits.Stats().Predicted / 2
	}
}

// Contains reports whether key may be in the set. If it was in or out when the
// filter was built, and the filter has one group, the answer is right. If it was in,
// it is true in any case.
func (f *table) Contains(key []byte) bool { return f.ContainsHash(f.hasher.Hash(key)) }

// ContainsString is Contains for a string.
func (f *table) ContainsString(key string) bool { return f.ContainsHash(f.hasher.HashString(key)) }

// ContainsHash is Contains for a key whose hash is h. A filter of several groups
// reports whether it may be in one of them: for keys that are out ContainsIn is
// exact, and this is not.
func (f *table) ContainsHash(h uint64) bool {
	if f.first != nil {
		return f.first.ContainsHash(h) && f.bit(h)
	}
	if len(f.classes) == 1 {
		return f.has(f.classes[0], h)
	}
	if f.special.allIn || f.special.byBit && f.bit(h) {
		return true
	}
	for left := f.kinds; left != 0; left &= left - 1 {
		if f.filters[bits.TrailingZeros64(left)].ContainsHash(h) {
			return f.bit(h)
		}
	}
	return false
}

// ContainsIn is ContainsHash for a key of this group. It reports false for a group
// that is not there.
func (f *table) ContainsIn(group int, h uint64) bool {
	return group >= 0 && group < len(f.classes) && f.has(f.classes[group], h)
}

// has reports whether a key of a group of this class is in.
func (f *table) has(class byte, h uint64) bool {
	switch class {
	case noneIn:
		return false
	case allIn:
		return true
	case byBit:
		return f.bit(h)
	default:
		return f.filters[class].ContainsHash(h) && f.bit(h)
	}
}

// bit asks the second stage.
func (f *table) bit(h uint64) bool {
	v, _ := f.bits.GetHash(h)
	return v == 1
}

// ContainsHashes sets dst[i] to ContainsHash(hs[i]). It panics if dst is shorter
// than hs.
func (f *table) ContainsHashes(dst []bool, hs []uint64) {
	dst = dst[:len(hs):len(dst)]
	if f.first == nil {
		for i, h := range hs {
			dst[i] = f.ContainsHash(h)
		}
		return
	}
	for len(hs) > 0 {
		n := min(batch, len(hs))
		f.first.ContainsHashes(dst[:n], hs[:n])
		f.decide(dst[:n], hs[:n])
		dst, hs = dst[n:], hs[n:]
	}
}

// decide asks the second stage for those of a batch that passed the first one.
func (f *table) decide(dst []bool, hs []uint64) {
	var passed [batch]uint64
	var places [batch]uint8
	n := 0
	for i, h := range hs {
		passed[n&(batch-1)], places[n&(batch-1)] = h, uint8(i)
		if dst[i] {
			n++
		}
	}
	var values [batch]uint32
	var ok [batch]bool
	f.bits.GetHashes(values[:n], ok[:n], passed[:n])
	for i, at := range places[:n] {
		dst[at] = values[i] == 1
	}
}

// ContainsKeys is ContainsHashes for keys.
func (f *table) ContainsKeys(dst []bool, keys [][]byte) { tableContains(f, dst, keys) }

// ContainsStrings is ContainsHashes for strings.
func (f *table) ContainsStrings(dst []bool, keys []string) { tableContains(f, dst, keys) }

func tableContains[K []byte | string](f *table, dst []bool, keys []K) {
	dst = dst[:len(keys):len(dst)]
	var hs [batch]uint64
	for len(keys) > 0 {
		n := hashing.HashBatch(f.hasher, hs[:], keys)
		f.ContainsHashes(dst[:n], hs[:n])
		dst, keys = dst[n:], keys[n:]
	}
}

// String returns Stats as a line of text.
func (f *table) String() string { return f.Stats().String() }

// Stats describes the state of the filter. Items are the keys that are in.
// Predicted is the rate at which keys that are neither in nor out are taken for in,
// by ContainsHash; see RateIn for groups. Saturation is that of the second stage.
func (f *table) Stats() bloomery.Stats {
	s := bloomery.Stats{
		Kind:      "exact",
		Capacity:  f.in,
		Items:     f.in,
		Exact:     true,
		Bits:      uint64(len(f.words)) * 64,
		Bytes:     uint64(len(f.words)) * 8,
		Asked:     f.asked,
		Predicted: f.predicted,
	}
	if f.bits != nil {
		s.Saturation = f.bits.Stats().Saturation
	}
	return s
}

// weigh sets what follows from the classes of the groups.
func (f *table) weigh() {
	f.kinds, f.special, f.first = 0, special{}, nil
	if len(f.classes) == 1 && int(f.classes[0]) < len(f.filters) {
		f.first = f.filters[f.classes[0]]
	}
	for _, class := range f.classes {
		switch class {
		case noneIn:
		case allIn:
			f.special.allIn = true
		case byBit:
			f.special.byBit = true
		default:
			f.kinds |= 1 << class
		}
	}
	none := 1.0 // that no group has it
	if f.special.allIn {
		none = 0
	}
	if f.special.byBit {
		none *= 1 - f.rateOf(byBit)
	}
	for left := f.kinds; left != 0; left &= left - 1 {
		none *= 1 - f.rateOf(byte(bits.TrailingZeros64(left)))
	}
	f.predicted = 1 - none
}
