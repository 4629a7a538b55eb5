package quotient

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"github.com/bloomery/bloomery"
)

// elders are the keys whose fingerprints have no bits left behind the address:
// how often each prefix of a hash is there. In the segments a void slot stands
// in every quotient that such a prefix covers, so that lookups need no elders.
// They are few: n·2^-l of n keys with new fingerprints of l bits.
type elders struct {
	shelves []shelf // one, or manyShelves
	lengths [64]int // how many prefixes have so many bits
	size    int     // all prefixes
	copied  uint64  // bytes of shelves that were copied since a fork has them, too
}

// shelf holds some of the prefixes: as many as can be copied at once when a fork has them, too.
type shelf struct {
	counts map[uint64]uint64 // by prefix, see elderCode
	owner  uint64            // see segments
}

const (
	// shelfSize is how many prefixes are on one shelf before there are more of them.
	shelfSize   = 4 << 10
	manyShelves = 256
)

// at returns the shelf of a code.
func (e *elders) at(code uint64) *shelf {
	if len(e.shelves) == 1 {
		return &e.shelves[0]
	}
	return &e.shelves[code*0x9e3779b97f4a7c15>>56]
}

// writable returns the shelf of a code, which belongs to the owner then.
func (e *elders) writable(code, owner uint64) *shelf {
	if e.shelves == nil {
		e.shelves = []shelf{{map[uint64]uint64{}, owner}}
	}
	s := e.at(code)
	if s.owner != owner {
		e.copied += uint64(len(s.counts)) * elderBytes
		*s = shelf{maps.Clone(s.counts), owner}
	}
	return s
}

// count returns how often a prefix is there.
func (e *elders) count(code uint64) uint64 {
	if e.size == 0 {
		return 0
	}
	return e.at(code).counts[code]
}

// elderCode is a prefix of n bits of a hash as one number: its bits from the top,
// a one, and zeros.
func elderCode(h uint64, n int) uint64 {
	mark := uint64(1) << (63 - n)
	return h&^(mark<<1-1) | mark
}

// elderBits returns the length of the prefix of a code.
func elderBits(code uint64) int { return 63 - bits.TrailingZeros64(code) }

// add adds occurrences of a prefix.
func (e *elders) add(code, count, owner uint64) {
	s := e.writable(code, owner)
	if s.counts[code] == 0 {
		e.lengths[elderBits(code)]++
		e.size++
	}
	if s.counts[code] += count; len(e.shelves) == 1 && e.size > shelfSize {
		e.spread(owner)
	}
}

// spread makes many shelves of one.
func (e *elders) spread(owner uint64) {
	all := e.shelves[0].counts
	e.shelves = make([]shelf, manyShelves)
	for i := range e.shelves {
		e.shelves[i] = shelf{map[uint64]uint64{}, owner}
	}
	for code, count := range all {
		e.at(code).counts[code] = count
	}
}

// all calls yield for the prefixes, in no order.
func (e *elders) all(yield func(code, count uint64) bool) {
	for _, s := range e.shelves {
		for code, count := range s.counts {
			if !yield(code, count) {
				return
			}
		}
	}
}

// codes returns the prefixes in rising order.
func (e *elders) codes() []uint64 {
	codes := make([]uint64, 0, e.size)
	for code := range e.all {
		codes = append(codes, code)
	}
	slices.Sort(codes)
	return codes
}

// covering calls yield for the prefixes of h that are there, longest first,
// until it returns false.
func (e *elders) covering(h uint64, yield func(code, count uint64) bool) {
	for n := len(e.lengths) - 1; n >= 0; n-- {
		if e.lengths[n] == 0 {
			continue
		}
		code := elderCode(h, n)
		if count := e.count(code); count > 0 && !yield(code, count) {
			return
		}
	}
}

// covers reports whether a prefix of h is there.
func (e *elders) covers(h uint64) (yes bool) {
	e.covering(h, func(uint64, uint64) bool { yes = true; return false })
	return yes
}

// sum returns how often prefixes of h are there.
func (e *elders) sum(h uint64) (n uint64) {
	e.covering(h, func(_, count uint64) bool { n += count; return true })
	return n
}

// remove removes one occurrence of the longest prefix of h. It reports false if
// there is none.
func (e *elders) remove(h, owner uint64) (ok bool) {
	e.covering(h, func(code, count uint64) bool {
		ok = true
		s := e.writable(code, owner)
		if s.counts[code] = count - 1; count == 1 {
			delete(s.counts, code)
			e.lengths[elderBits(code)]--
			e.size--
		}
		return false
	})
	return ok
}

// fork returns elders that have the same shelves. Both copy one before they change it: their
// owners are new ones.
func (e *elders) fork() elders { return elders{slices.Clone(e.shelves), e.lengths, e.size, e.copied} }

// clone returns a copy that an owner may change.
func (e *elders) clone(owner uint64) elders {
	c := e.fork()
	for i := range c.shelves {
		c.shelves[i] = shelf{maps.Clone(c.shelves[i].counts), owner}
	}
	return c
}

// words returns the prefixes in rising order, each with its count.
func (e *elders) words() []uint64 {
	words := make([]uint64, 0, 2*e.size)
	for _, code := range e.codes() {
		words = append(words, code, e.count(code))
	}
	return words
}

// parseElders is the reverse of words, for an owner.
func parseElders(words []uint64, owner uint64) (e elders, err error) {
	for i := 0; i < len(words); i += 2 {
		code, count := words[i], words[i+1]
		if code == 0 || count == 0 || i > 0 && code <= words[i-2] {
			return e, fmt.Errorf("%w: elder %#x, %d times", bloomery.ErrCorrupt, code, count)
		}
		e.add(code, count, owner)
	}
	return e, nil
}
