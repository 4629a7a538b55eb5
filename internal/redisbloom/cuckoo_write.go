package redisbloom

import (
	"bytes"
	"errors"
	"math"
	"slices"

	"github.com/bloomery/bloomery/internal/memory"
)

// What became of one item of a batch of inserts, with the values that CF.INSERTNX
// answers.
const (
	Refused  int8 = -1
	Present  int8 = 0 // InsertNXDigests only
	Inserted int8 = 1
)

// Insert inserts key; twice counts twice. It may make the filter grow as far as
// there is memory. The error is ErrFull, ErrGrowth or that of a refused array,
// and then nothing has changed.
func (c *Cuckoo) Insert(key []byte) error { return c.InsertDigest(CuckooDigest(key)) }

// InsertDigest is Insert for a key whose digest is h.
func (c *Cuckoo) InsertDigest(h uint64) error {
	budget := uint64(math.MaxUint64)
	return c.insert(h, &budget)
}

// InsertNX inserts key unless the filter seems to have it, and reports whether
// it did. The error is that of Insert.
func (c *Cuckoo) InsertNX(key []byte) (bool, error) { return c.insertNXDigest(CuckooDigest(key)) }

// insertNXDigest is InsertNX for a key whose digest is h.
func (c *Cuckoo) insertNXDigest(h uint64) (bool, error) {
	if c.ContainsDigest(h) {
		return false, nil
	}
	if err := c.InsertDigest(h); err != nil {
		return false, err
	}
	return true, nil
}

// InsertDigests inserts hs in order and sets dst[i] to Inserted or Refused. budget
// is how many bytes the filter may grow by in all; [Cuckoo.GrowBytes] returns
// what one sub-filter takes.
//
// It returns the number of digests done and the first error. A filter that
// cannot grow (ErrFull, ErrGrowth) answers Refused and goes on with the next
// item, as CF.INSERT does. Too small a budget (memory.ErrRoom) and a refused array stop
// it: hs[n] is the item that failed, and it and those behind it have changed
// nothing, so that InsertDigests of hs[n:] with a larger one goes on. It panics if
// dst is shorter than hs.
func (c *Cuckoo) InsertDigests(dst []int8, hs []uint64, budget uint64) (n int, err error) {
	return c.insertAll(dst, hs, false, budget)
}

// InsertNXDigests is InsertDigests that passes over items that the filter seems
// to have; for those dst[i] is Present.
func (c *Cuckoo) InsertNXDigests(dst []int8, hs []uint64, budget uint64) (n int, err error) {
	return c.insertAll(dst, hs, true, budget)
}

func (c *Cuckoo) insertAll(dst []int8, hs []uint64, nx bool, budget uint64) (n int, first error) {
	fetch := 1 // an item usually fits into the newest sub-filter
	if nx {
		fetch = fetchFilters
	}
	dst = dst[:len(hs)]
	for i, h := range hs {
		if i%group == 0 {
			c.fetch(hs[i:min(i+group, len(hs))], fetch)
		}
		if nx && c.ContainsDigest(h) {
			dst[i] = Present
			continue
		}
		dst[i] = Inserted
		err := c.insert(h, &budget)
		if err == nil {
			continue
		}
		if !errors.Is(err, ErrFull) && !errors.Is(err, ErrGrowth) {
			return i, err
		}
		dst[i] = Refused
		if first == nil {
			first = err
		}
	}
	return len(hs), first
}

func (c *Cuckoo) insert(h uint64, budget *uint64) error {
	fp := fingerprint(h)
	if !c.place(h, fp) && !c.kick(h, fp) {
		if err := c.grow(budget); err != nil {
			return err
		}
		last := len(c.subs) - 1
		c.put(last, c.subs[last].at(h, int(c.bucket)), fp)
	}
	c.items++
	return nil
}

// place stores fp in the first free slot of its two buckets, newest sub-filter
// first.
func (c *Cuckoo) place(h uint64, fp byte) bool {
	h2 := other(h, fp)
	size := int(c.bucket)
	var n uint64
	var i, j int
	low := c.full.filters(h)
	for k := len(c.subs) - 1; k >= low; k-- {
		s := &c.subs[k]
		if s.n != n {
			n, i, j = s.n, s.at(h, size), s.at(h2, size)
		}
		if slot := search(s.data, i, j, size, 0); slot >= 0 {
			c.put(k, slot, fp)
			return true
		}
	}
	c.full.set(h, len(c.subs))
	return false
}

// kick makes room in the newest sub-filter by moving items to their other
// buckets. If that takes too many moves it takes them all back and reports
// false.
func (c *Cuckoo) kick(h uint64, fp byte) bool {
	c.mustBeMade()
	last := len(c.subs) - 1
	s := &c.subs[last]
	size := int(c.bucket)
	trail := make([]int, 0, 32) // the slots in the order of the moves; the default of 20 fits
	b, v := s.bucket(h), 0
	for len(trail) < int(c.maxKicks) {
		slot := int(b)*size + v
		trail = append(trail, slot)
		old := s.data[slot]
		c.put(last, slot, fp)
		fp = old
		b = s.bucket(other(b, fp))
		at := int(b) * size
		if free := find(s.data[at:at+size], 0); free >= 0 {
			c.put(last, at+free, fp)
			return true
		}
		if v++; v == size { // a division would take as long as the rest
			v = 0
		}
	}
	for _, slot := range slices.Backward(trail) {
		s.data[slot], fp = fp, s.data[slot]
	}
	return false
}

// grow appends a sub-filter.
func (c *Cuckoo) grow(budget *uint64) error {
	if c.expansion == 0 {
		return ErrFull
	}
	n, ok := c.nextBuckets()
	if !ok {
		return ErrGrowth
	}
	cost := c.growBytes(n)
	if cost > *budget {
		return memory.ErrRoom
	}
	data, err := grown(c.memory, n*uint64(c.bucket), c.Bytes()+cost)
	if err != nil {
		return err
	}
	*budget -= cost
	c.subs = append(c.subs, sub{data, n})
	c.slots += uint64(len(data))
	if len(c.subs) == fullFrom {
		c.full = new(fullTable)
	}
	return nil
}

// mustBeMade panics for a zero Cuckoo.
func (c *Cuckoo) mustBeMade() {
	if len(c.subs) == 0 {
		panic("redisbloom: change of a zero Cuckoo: make it with NewCuckoo")
	}
}

// put writes one slot.
func (c *Cuckoo) put(k, slot int, v byte) {
	if c.frozen != nil {
		c.frozen.save(k, c.subs[k].data, slot, 1)
	}
	if c.sweep != nil {
		c.sweep.note(k, slot, v)
	}
	c.subs[k].data[slot] = v
}

// Delete removes one occurrence of key and reports whether there was one.
// Deleting a key that was never inserted may remove another one, which is then
// a false negative. When a tenth of the items were deleted, a filter with more
// than one sub-filter is compacted.
func (c *Cuckoo) Delete(key []byte) bool { return c.DeleteDigest(CuckooDigest(key)) }

// DeleteDigest is Delete for a key whose digest is h.
func (c *Cuckoo) DeleteDigest(h uint64) bool { return c.deleteDigest(h, unlimited) }

// unlimited is more steps than any compaction takes.
const unlimited = 1 << 62

// deleteDigest is DeleteDigest that compacts if that takes at most so many steps.
func (c *Cuckoo) deleteDigest(h, steps uint64) bool {
	fp := fingerprint(h)
	k, slot := c.locate(h, fp)
	if k < 0 {
		c.mustBeMade()
		return false
	}
	c.put(k, slot, 0)
	c.full.clear()
	c.items-- // a dump may claim too few: then this wraps, as in RedisBloom
	c.deletes++
	if c.CompactDue() && c.compactSteps() <= steps {
		c.compact(true)
	}
	return true
}

// CompactDue reports whether so much was deleted that the filter is compacted, or
// was to be.
func (c *Cuckoo) CompactDue() bool {
	// RedisBloom compares with 0.10·items in floating point. The product is
	// never rounded across an integer, so this is the same.
	return len(c.subs) > 1 && c.deletes > c.items/10
}

// compactSteps is about how long it takes to empty the newest sub-filter: a step
// asks a sub-filter for room, or passes over 16 slots. Records that are kept depend on it.
func (c *Cuckoo) compactSteps() uint64 {
	x := len(c.subs) - 1
	slots := uint64(len(c.subs[x].data))
	return slots/16 + min(c.items, slots)*uint64(x)
}

// CompactsIn reports whether the filter, when n more items are deleted, is not to be compacted, or
// for certain in so many steps. The number of its items may be a lie: slots in use are counted, among at most 16 for each step.
func (c *Cuckoo) CompactsIn(steps uint64, n int) bool {
	limit := (c.items - min(c.items, uint64(n))) / 10
	if len(c.subs) == 1 || uint64(n) <= limit && c.deletes <= limit-uint64(n) {
		return true
	}
	if c.compactSteps() > steps {
		return false
	}
	for x := len(c.subs) - 1; x > 0; x-- {
		data := c.subs[x].data
		took := 1 + uint64(len(data))/16
		if took <= steps {
			took += uint64(len(data)-bytes.Count(data, []byte{0})) * uint64(x) * BucketSteps(c.bucket)
		}
		if took > steps {
			return false
		}
		steps -= took
	}
	return true
}

// CompactSteps is up to how many steps it takes to empty a sub-filter of so many slots, with so
// many older ones. All slots may be in use, whatever number of items a dump has claimed.
func CompactSteps(slots, older uint64, bucket uint16) uint64 {
	return slots/16 + slots*older*BucketSteps(bucket)
}

// BucketSteps is how many steps it takes to ask a sub-filter for room.
func BucketSteps(bucket uint16) uint64 { return uint64(bucket)/64 + 1 }

// DeleteDigestsLazily is DeleteDigests that compacts the filter only if that takes
// at most so many steps: each asks a sub-filter for room, or passes over 16 slots. It
// reports whether the caller has to do it, by CompactPiece, from CompactFrom down to
// the first sub-filter that is not dropped by it.
func (c *Cuckoo) DeleteDigestsLazily(dst []bool, hs []uint64, steps uint64) (due bool) {
	c.deleteDigests(dst, hs, steps)
	return c.CompactDue() && c.sweep == nil
}

// DeleteDigests deletes hs in order and sets dst[i] to what DeleteDigest(hs[i])
// reports. It panics if dst is shorter than hs.
func (c *Cuckoo) DeleteDigests(dst []bool, hs []uint64) { c.deleteDigests(dst, hs, unlimited) }

func (c *Cuckoo) deleteDigests(dst []bool, hs []uint64, steps uint64) {
	dst = dst[:len(hs)]
	for i, h := range hs {
		if i%group == 0 {
			c.fetch(hs[i:min(i+group, len(hs))], fetchFilters)
		}
		dst[i] = c.deleteDigest(h, steps)
	}
}

// locate returns the slot that holds fp, newest sub-filter first, or k = -1.
func (c *Cuckoo) locate(h uint64, fp byte) (k, slot int) {
	h2 := other(h, fp)
	size := int(c.bucket)
	for k := len(c.subs) - 1; k >= 0; k-- {
		s := &c.subs[k]
		if slot := search(s.data, s.at(h, size), s.at(h2, size), size, fp); slot >= 0 {
			return k, slot
		}
	}
	return -1, 0
}
