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
	counts  map[uint64]uint64 // by prefix, see elderCode
	lengths [64]int           // how many prefixes have so many bits
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
func (e *elders) add(code, count uint64) {
	if e.counts == nil {
		e.counts = map[uint64]uint64{}
	}
	if e.counts[code] == 0 {
		e.lengths[elderBits(code)]++
	}
	e.counts[code] += count
}

// covering calls yield for the prefixes of h that are there, longest first,
// until it returns false.
func (e *elders) covering(h uint64, yield func(code, count uint64) bool) {
	for n := len(e.lengths) - 1; n >= 0; n-- {
		if e.lengths[n] == 0 {
			continue
		}
		code := elderCode(h, n)
		if count := e.counts[code]; count > 0 && !yield(code, count) {
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
func (e *elders) remove(h uint64) (ok bool) {
	e.covering(h, func(code, count uint64) bool {
		ok = true
		if e.counts[code] = count - 1; count == 1 {
			delete(e.counts, code)
			e.lengths[elderBits(code)]--
		}
		return false
	})
	return ok
}

func (e *elders) clone() elders { return elders{maps.Clone(e.counts), e.lengths} }

// words returns the prefixes in rising order, each with its count.
func (e *elders) words() []uint64 {
	words := make([]uint64, 0, 2*len(e.counts))
	for _, code := range slices.Sorted(maps.Keys(e.counts)) {
		words = append(words, code, e.counts[code])
	}
	return words
}

// parseElders is the reverse of words.
func parseElders(words []uint64) (e elders, err error) {
	for i := 0; i < len(words); i += 2 {
		code, count := words[i], words[i+1]
		if code == 0 || count == 0 || i > 0 && code <= words[i-2] {
			return e, fmt.Errorf("%w: elder %#x, %d times", bloomery.ErrCorrupt, code, count)
		}
		e.add(code, count)
	}
	return e, nil
}
