// A set of 128-bit hashes in one array.

package dedupe

import (
	"math/bits"

	"github.com/zeebo/xxh3"
)

// hash is a hash of 128 bits. Two of a billion lines share one with probability
// 1.5e-21.
type hash = xxh3.Uint128

// pairGrowth is how many times larger a pairSet becomes: more would touch memory
// that is not needed, less would sweep more often.
const pairGrowth = 2

// pairSet is a set of 128-bit hashes in an array of fixed size. It grows inside
// its array, in place, as a hashSet does, and touches no more of it than it
// needs:
//
//	words  [ slots of two words, at most 13/16 in use | slack ][ not touched yet ]
//
// The home of a hash is the upper half of Hi × slots, so slots are sorted but
// for small disorder inside each run of used ones. A slot of zeros is empty;
// the hash 0 is stored as 1.
type pairSet struct {
	words []uint64
	slots uint64 // homes in use
	most  uint64 // homes that there is room for
	slack uint64 // slots behind the last home
	n     int    // hashes
	grow  int    // n at which the set grows
	seen  uint64 // keeps the compiler from dropping the loads of warm
}

// newPairSet returns an empty set that lies in words, which must be zero.
func newPairSet(words []uint64) pairSet {
	most, slack := homes(len(words) / 2)
	s := pairSet{words: words, most: most, slack: slack}
	s.resize(min(firstSlots, s.most))
	return s
}

func (s *pairSet) resize(slots uint64) {
	s.slots = slots
	s.grow = int(fullFill * float64(slots))
}

// room returns how many hashes the set can hold.
func (s *pairSet) room() int { return int(fullFill * float64(s.most)) }

func (s *pairSet) home(hi uint64) uint64 {
	at, _ := bits.Mul64(hi, s.slots)
	return at
}

// near returns the slots where a hash can lie. As in a hashSet, some of the
// slack is left for growing.
func (s *pairSet) near(hi uint64) []uint64 {
	home := s.home(hi)
	return s.words[2*home : 2*(home+s.slack*3/4)]
}

// stored returns a hash as slots hold it.
func stored(h hash) hash {
	if h.Hi|h.Lo == 0 {
		h.Lo = 1
	}
	return h
}

// addAll adds hashes in order and notes in fresh which were new, until the set
// is full. It returns how many it added or found.
func (s *pairSet) addAll(fresh []bool, hs []hash) int {
	done := 0
	for done < len(hs) {
		some := hs[done:min(done+warmed, len(hs))]
		s.warm(some)
		for _, h := range some {
			isNew, ok := s.add(h)
			if !ok {
				return done
			}
			fresh[done] = isNew
			done++
		}
	}
	return done
}

// warm loads the homes of some hashes: the loads do not wait for each other,
// as those of a search would.
func (s *pairSet) warm(hs []hash) {
	var x uint64
	for _, h := range hs {
		x ^= s.words[2*s.home(h.Hi)]
	}
	s.seen = x
}

// add adds a hash and reports whether it is new. It is not ok, and changes
// nothing, if a new hash has no room.
func (s *pairSet) add(h hash) (fresh, ok bool) {
	h = stored(h)
	near := s.near(h.Hi)
	for i := 0; i+1 < len(near); i += 2 {
		hi, lo := near[i], near[i+1]
		if hi == h.Hi && lo == h.Lo {
			return false, true
		}
		if hi|lo != 0 {
			continue
		}
		if s.n >= s.grow {
			break
		}
		near[i], near[i+1] = h.Hi, h.Lo
		s.n++
		return true, true
	}
	if s.slots == s.most {
		return false, false
	}
	s.expand(min(pairGrowth*s.slots, s.most))
	return s.add(h)
}

// expand gives the set more slots in place: all hashes are sorted into the end
// of the new range and then put to their new homes.
func (s *pairSet) expand(slots uint64) {
	from := s.sortUp(slots + s.slack)
	s.resize(slots)
	s.spread(from)
}

// spread puts the hashes that lie sorted at the end to their homes or behind,
// from the lowest on. See hashSet for why none is overwritten.
func (s *pairSet) spread(from uint64) {
	next := uint64(0)
	for i := from; i < s.slots+s.slack; i++ {
		hi, lo := s.words[2*i], s.words[2*i+1]
		s.words[2*i], s.words[2*i+1] = 0, 0
		at := max(next, s.home(hi))
		s.words[2*at], s.words[2*at+1] = hi, lo
		next = at + 1
	}
}

// sorted calls f with all hashes in ascending order, two words each, Hi first.
// They are moved together for that, and back behind it.
func (s *pairSet) sorted(f func(words []uint64) error) error {
	end := s.slots + s.slack
	from := s.sortUp(end)
	err := f(s.words[2*from : 2*end])
	s.spread(from)
	return err
}

// sortUp moves all hashes to the slots before end, in ascending order, clears
// the slots before them, and returns where they begin.
func (s *pairSet) sortUp(end uint64) uint64 {
	at := end
	for i := s.slots + s.slack; i > 0; i-- {
		hi, lo := s.words[2*i-2], s.words[2*i-1]
		if hi|lo == 0 {
			continue
		}
		s.words[2*i-2], s.words[2*i-1] = 0, 0
		at--
		j := at
		for ; j+1 < end && less(s.words[2*j+2], s.words[2*j+3], hi, lo); j++ {
			s.words[2*j], s.words[2*j+1] = s.words[2*j+2], s.words[2*j+3]
		}
		s.words[2*j], s.words[2*j+1] = hi, lo
	}
	return at
}

// less compares two hashes.
func less(hi, lo, otherHi, otherLo uint64) bool {
	return hi < otherHi || hi == otherHi && lo < otherLo
}
