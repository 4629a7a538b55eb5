package teach

// A cuckoo filter with its array.

import (
	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/cuckoo"
	"github.com/bloomery/bloomery/sizing"
)

// fingerprint is the width of fingerprints: a byte.
const fingerprint = 8

// buckets is a cuckoo filter with its array, in which a slot is a byte of a word.
type buckets struct {
	*cuckoo.Filter
	array
	fresh func() (*cuckoo.Filter, *array, error)
	slots int
}

func newBuckets(slots, _ int) (machine, error) {
	b := &buckets{slots: slots}
	b.fresh = func() (*cuckoo.Filter, *array, error) {
		var a array
		f, err := cuckoo.Config{Buckets: uint64(slots / sizing.CuckooSlots), Width: fingerprint, Alloc: a.take}.New()
		return f, &a, err
	}
	f, a, err := b.fresh()
	if err != nil {
		return nil, err
	}
	b.Filter, b.array = f, *a
	return b, nil
}

func (b *buckets) add(key string) error   { return b.InsertString(key) }
func (b *buckets) has(key string) bool    { return b.ContainsString(key) }
func (b *buckets) remove(key string) bool { return b.DeleteString(key) }
func (b *buckets) stats() bloomery.Stats  { return b.Stats() }
func (b *buckets) values() []int          { return b.slotValues(b.slots) }
func (b *buckets) fills()                 {}

func (b *buckets) panels() []Panel {
	return []Panel{{Name: "buckets of 4 slots", Cells: b.slots, Columns: 16, Group: sizing.CuckooSlots}}
}

// slotValues returns the first n fingerprints.
func (a *array) slotValues(n int) []int {
	v := make([]int, n)
	for i := range v {
		v[i] = int(a.word(i/8) >> (i % 8 * fingerprint) & 0xff)
	}
	return v
}

// place finds both buckets of a key by inserting it as often as it fits: 4 times
// into the one and 4 times into the other.
func (b *buckets) place(key string) place {
	f, a, err := b.fresh()
	if err != nil {
		return place{}
	}
	for range f.MaxCount() {
		if f.InsertString(key) != nil {
			return place{}
		}
	}
	var p place
	for i, v := range a.slotValues(b.slots) {
		if v != 0 {
			p.cells, p.mark = append(p.cells, i), v
		}
	}
	return p
}
