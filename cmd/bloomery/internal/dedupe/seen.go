// Seen, which changes from hashes to a Bloom filter when memory is full.

package dedupe

import (
	"fmt"
	"math"
	"sort"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/sizing"
)

// MinMemory is the least memory that a Seen works with.
const MinMemory = 64 << 10

// rateSteps is in how many steps the error rate is followed while a filter gets
// a key for every 32 of its bits.
const rateSteps = 1024

// Config says how much a Seen may keep and how often it may err.
type Config struct {
	_ struct{}

	// Memory is the size of the array in bytes, at least MinMemory. All of it
	// is there from the beginning; what is not used yet costs no memory on
	// systems that give pages when they are touched.
	Memory int
	// ErrorRate is that of the filter when it holds its capacity: 1e-6 or more
	// and less than 1.
	ErrorRate float64
	// Expected is how many distinct hashes will come, 0 if that is not known.
	// If they do not fit as they are and the filter holds them, it is there
	// from the beginning. More than Capacity are as good as not known: a filter
	// shaped for them would err more often, from the first hash on.
	Expected int
}

// Capacity returns how many hashes the filter of a Seen holds at the rate asked,
// 0 if the memory or the rate is none that a Seen has.
func (c Config) Capacity() int {
	if c.check() != nil {
		return 0
	}
	most, _ := homes(c.Memory / 8)
	n, _ := capacity(most*64, c.ErrorRate)
	return n
}

// Seen remembers hashes: as they are, as long as there is room for them, and
// beyond in a Bloom filter. The filter takes the place of the hashes in the
// same array, block by block, so that the change needs no more memory:
//
//	before  [ hashes, in the order of their homes | slack ]
//	          ────────►
//	during  [ blocks of bits | hashes                     ]
//	after   [ blocks of bits                              ]
//
// A sweep may do that because both are in the order of the hashes: the block of
// a hash never lies behind its slot.
//
// A writer needs exclusion.
type Seen struct {
	set    hashSet // until there is a filter
	filter *bloom.Filter
	asked  float64

	// These are found when they are needed: the tables of the model take some
	// milliseconds, which few lines need not wait for.
	k        int // bits per key of the filter, 0 if not known yet
	capacity int // how many hashes the filter holds at the rate asked

	n     int     // hashes that were new
	wrong float64 // expected number of new ones that were taken for old, up to the last step
	step  int     // hashes between two looks at the rate
	next  int     // n at the next look
	last  int     // n at the last one
}

// New returns a Seen that has seen nothing. Errors wrap ErrParameter or
// ErrTooLarge.
func (c Config) New() (*Seen, error) {
	s, err := c.empty()
	if err != nil {
		return nil, fmt.Errorf("dedupe: new: %w", err)
	}
	if err := s.expect(c.Expected); err != nil {
		return nil, fmt.Errorf("dedupe: new: %w", err)
	}
	return s, nil
}

func (c Config) check() error {
	if err := checkMemory(c.Memory, MinMemory); err != nil {
		return err
	}
	if !(c.ErrorRate >= sizing.MinBlockedRate && c.ErrorRate < 1) {
		return fmt.Errorf("%w: error rate %v is not between %v and 1", bloomery.ErrParameter, c.ErrorRate, sizing.MinBlockedRate)
	}
	return nil
}

func (c Config) empty() (*Seen, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	words, err := array(c.Memory / 8)
	if err != nil {
		return nil, err
	}
	return &Seen{set: newHashSet(words), asked: c.ErrorRate}, nil
}

// Close gives the memory back: s is of no use any more.
func (s *Seen) Close() error {
	b := bytesOf(s.set.words)
	s.set, s.filter = hashSet{}, nil
	return memory.Unmap(b)
}

// expect goes over to the filter if it is known to be the right place for so
// many hashes.
func (s *Seen) expect(n int) error {
	if n <= s.set.room() || n > s.Capacity() {
		return nil
	}
	return s.change()
}

// plan finds the shape of the filter, unless it is known.
func (s *Seen) plan() {
	if s.k != 0 {
		return
	}
	shape := sizing.Shape{Layout: sizing.Blocked, Bits: s.set.most * 64}
	_, shape.K = capacity(shape.Bits, s.asked)
	s.shape(shape)
}

// shape notes what filter will take the place of the set, or has.
func (s *Seen) shape(shape sizing.Shape) {
	s.k = shape.K
	s.capacity = sort.Search(int(min(shape.Bits, math.MaxInt)), func(n int) bool { return shape.Rate(float64(n)+1) > s.asked })
	s.step = int(max(1, shape.Bits/32/rateSteps))
}

// capacity returns how many keys a blocked filter of so many bits holds at a
// rate, and the number of bits per key that makes it so.
func capacity(bits uint64, rate float64) (n, k int) {
	n = sort.Search(int(min(bits, math.MaxInt)), func(i int) bool {
		shape, err := sizing.Blocked.Size(uint64(i)+1, rate)
		if err == nil && shape.Bits <= bits {
			k = shape.K
			return false
		}
		return true
	})
	if n == 0 { // not even one key: the array is tiny and the rate low
		k = sizing.BlockBits / 64
	}
	return n, k
}

// AddHashes adds hashes in order and sets fresh[i] to whether hs[i] is new:
// true is right, false is wrong as often as Wrong says. It panics if fresh is
// shorter than hs.
func (s *Seen) AddHashes(fresh []bool, hs []uint64) {
	fresh = fresh[:len(hs)]
	if s.filter == nil {
		done := s.set.addAll(fresh, hs)
		s.n = s.set.count()
		if done == len(hs) {
			return
		}
		fresh, hs = fresh[done:], hs[done:]
		if err := s.change(); err != nil {
			panic(err) // the shape was found by sizing, and the memory is there
		}
	}
	s.filter.AddHashes(fresh, hs)
	for _, f := range fresh {
		if f {
			s.n++
		}
	}
	for s.n >= s.next {
		s.wrong += s.missed(s.last, s.next)
		s.last, s.next = s.next, s.next+s.step
	}
}

// missed returns the expected number of new hashes that were taken for old while
// the count of new ones went from one number to another. A hash counts as new
// with chance 1 - r, so there were r/(1-r) wrong answers for each. The filter
// holds those that were taken for old, too. That of a full filter, which knows
// everything, is bounded: a sum of bounded numbers stays a number.
func (s *Seen) missed(from, to int) float64 {
	const least = 1e-9 // no filter is of use at this rate
	r := s.filter.Shape().Rate(float64(from+to)/2 + s.wrong)
	return float64(to-from) * r / max(1-r, least)
}

// change puts a filter in the place of the set.
func (s *Seen) change() error {
	s.plan()
	words := s.set.words[:s.set.most]
	f, err := bloom.Config{
		Bits: uint64(len(words)) * 64, Hashes: s.k, Capacity: s.capacity,
		Alloc: func(int) ([]byte, error) { return bytesOf(words), nil },
	}.New()
	if err != nil {
		return err
	}
	s.wrong = collisions(s.n)
	s.sweep(f)
	s.filter = f
	s.last, s.next = s.n, s.n+s.step
	return nil
}

// sweepWords is how many slots are moved at once.
const sweepWords = 512

// sweep adds the hashes in the set to the filter that lies in the same memory.
// If the set has not grown to all of the array, it is made to first: only then
// is a slot never before the block of its hash.
func (s *Seen) sweep(f *bloom.Filter) {
	if s.n > 0 && s.set.slots < s.set.most {
		s.set.expand(s.set.most)
	}
	var taken [sweepWords]uint64
	for words := s.set.words; len(words) > 0 && s.n > 0; {
		some := words[:min(sweepWords, len(words))]
		words = words[len(some):]
		n := 0
		for i, h := range some {
			if h != 0 {
				taken[n] = h
				n++
				some[i] = 0
			}
		}
		f.AddHashes(nil, taken[:n])
	}
	if s.set.zero {
		f.AddHash(0)
	}
}

// collisions returns the expected number of hashes among n that are also those
// of another key: n²/2 pairs, each with chance 2^-64.
func collisions(n int) float64 { return math.Ldexp(float64(n)*float64(n), -65) }

// Count returns how many hashes counted as new.
func (s *Seen) Count() int { return s.n }

// Capacity returns how many hashes the filter holds at the rate asked.
func (s *Seen) Capacity() int {
	s.plan()
	return s.capacity
}

// Filtered reports whether hashes are in a filter by now.
func (s *Seen) Filtered() bool { return s.filter != nil }

// Wrong returns the expected number of new keys that were taken for old so far. It
// is a sum over the filling of the filter, and n²/2^65 while there is none.
func (s *Seen) Wrong() float64 {
	if s.filter == nil {
		return collisions(s.n)
	}
	return s.wrong + s.missed(s.last, s.n)
}

// Rate returns the share of new keys that would be taken for old now.
func (s *Seen) Rate() float64 {
	if s.filter == nil {
		return math.Ldexp(float64(s.n), -64)
	}
	return s.filter.Shape().Rate(float64(s.n) + s.wrong)
}
