// A set of 64-bit hashes in one array.

package dedupe

import "math/bits"

// The fill at which a set grows, and that at which it has no room left: linear
// probing takes 9 steps to miss at the first and 15 at the second.
const (
	growFill = 0.75
	fullFill = 0.8125
)

// Sizes of a set, in words.
const (
	firstSlots = 1 << 12
	mostSlack  = 1 << 12
	leastSlack = 64
	growth     = 4 // each time: two sweeps over all hashes, so not too often
)

// hashSet is a set of 64-bit hashes in an array of fixed size, of which it
// touches as little as it needs: it grows inside its array, in place.
//
//	words  [ slots, at most 13/16 in use            | slack ][ not touched yet ]
//	          ^ a hash lies at its home or behind it     ^ room for the last homes
//
// The home of h is the upper half of h × slots, so the array is sorted by hash
// but for small disorder inside each run of used slots. Growing and the move
// to a filter both live on that: they are sweeps from one end to the other.
//
// A word of 0 is an empty slot; the hash 0 itself is kept beside.
type hashSet struct {
	words []uint64
	slots uint64 // homes in use
	most  uint64 // homes that there is room for, a multiple of 8
	slack uint64 // room behind the last home
	n     int    // hashes in the array
	grow  int    // n at which the set grows
	zero  bool   // the hash 0 is in the set
	seen  uint64 // keeps the compiler from dropping the loads of warm
}

// newHashSet returns an empty set that lies in words, which must be zero.
func newHashSet(words []uint64) hashSet {
	most, slack := homes(len(words))
	s := hashSet{words: words, most: most, slack: slack}
	s.resize(min(firstSlots, s.most))
	return s
}

// homes returns how many homes there are in so many words at most, and the
// slack behind them.
func homes(words int) (most, slack uint64) {
	slack = max(leastSlack, min(mostSlack, uint64(words)/16))
	return (uint64(words) - slack) &^ 7, slack
}

func (s *hashSet) resize(slots uint64) {
	s.slots = slots
	s.grow = int(growFill * float64(slots))
	if slots == s.most {
		s.grow = s.room()
	}
}

// room returns how many hashes the set can hold.
func (s *hashSet) room() int { return int(fullFill * float64(s.most)) }

// count returns the number of hashes.
func (s *hashSet) count() int {
	if s.zero {
		return s.n + 1
	}
	return s.n
}

func (s *hashSet) home(h uint64) uint64 {
	hi, _ := bits.Mul64(h, s.slots)
	return hi
}

// reach is how far behind its home a hash may lie. It leaves some of the slack,
// because growing can move the last hashes one slot further from their homes.
// Hashes that were made to collide end the set early instead of making it slow.
func (s *hashSet) reach() uint64 { return s.slack * 3 / 4 }

// warmed is how many homes are touched before they are searched.
const warmed = 64

// addAll adds hashes in order and notes in fresh which were new, until the set
// is full. It returns how many it added or found.
func (s *hashSet) addAll(fresh []bool, hs []uint64) int {
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
func (s *hashSet) warm(hs []uint64) {
	var x uint64
	for _, h := range hs {
		x ^= s.words[s.home(h)]
	}
	s.seen = x
}

// add adds a hash and reports whether it is new. It is not ok, and changes
// nothing, if a new hash has no room.
func (s *hashSet) add(h uint64) (fresh, ok bool) {
	if h == 0 {
		fresh, s.zero = !s.zero, true
		return fresh, true
	}
	home := s.home(h)
	near := s.words[home : home+s.reach()]
	for i, w := range near {
		if w == h {
			return false, true
		}
		if w != 0 {
			continue
		}
		if s.n >= s.grow {
			if s.slots == s.most {
				return false, false
			}
			s.expand(min(growth*s.slots, s.most))
			return s.add(h)
		}
		near[i] = h
		s.n++
		return true, true
	}
	if s.slots == s.most {
		return false, false
	}
	s.expand(min(growth*s.slots, s.most))
	return s.add(h)
}

// expand gives the set more slots in place: all hashes are sorted into the end
// of the new range and then put to their new homes.
func (s *hashSet) expand(slots uint64) {
	from := s.sortUp(slots + s.slack)
	s.resize(slots)
	s.spread(from)
}

// spread puts the hashes that lie sorted at the end to their homes or behind,
// from the lowest on. None is overwritten before it was read: those that follow
// a hash need as many slots behind it as they take at the end. Nor does the
// slack overflow: when slots grow, homes move apart, so that hashes come closer
// to them, but for up to one slot of rounding.
func (s *hashSet) spread(from uint64) {
	next := uint64(0)
	for i := from; i < s.slots+s.slack; i++ {
		h := s.words[i]
		s.words[i] = 0
		at := max(next, s.home(h))
		s.words[at] = h
		next = at + 1
	}
}

// sorted calls f with all hashes but 0 in ascending order. They are moved
// together for that, and back behind it.
func (s *hashSet) sorted(f func([]uint64) error) error {
	end := s.slots + s.slack
	from := s.sortUp(end)
	err := f(s.words[from:end])
	s.spread(from)
	return err
}

// sortUp moves all hashes to the words before end, in ascending order, clears
// the words before them, and returns where they begin.
func (s *hashSet) sortUp(end uint64) uint64 {
	at := end
	for i := s.slots + s.slack; i > 0; i-- {
		h := s.words[i-1]
		if h == 0 {
			continue
		}
		s.words[i-1] = 0
		at--
		j := at
		for ; j+1 < end && s.words[j+1] < h; j++ {
			s.words[j] = s.words[j+1]
		}
		s.words[j] = h
	}
	return at
}
