package contents

// How many items a filter of bits holds.

import (
	"math"

	"github.com/bloomery/bloomery"
	composed "github.com/bloomery/bloomery/compose"
)

// tally is how many hashes were new to a filter when they were added. An estimate from
// a sample of a large array is far off while few bits are set; the tally is off by one
// for every hash that was taken for one that was there. It is kept in memory alone:
// what comes from a file or another filter is estimated once.
type tally struct{ items uint64 }

// uncounted is the tally of a filter of which it is not known.
const uncounted = math.MaxUint64

func (t *tally) unknown() bool { return t.items == uncounted }

// tallyRate is the false positive rate up to which a tally counts: of the items of a
// filter that has less, fewer than 1 in 100 were taken for ones that were there, since
// most were added when it had far less.
const tallyRate = 0.05

// forgetShare is the share of its capacity up to which a filter that forgets has lost
// hardly any item.
const forgetShare = 0.01

// adder is a filter that keeps a tally itself: a window, whose items go by themselves.
type adder interface{ Added() uint64 }

// into sets the number of items of s, the state of a filter that forgets items or not,
// if the tally knows it better. A number that was counted stays as it is.
func (t *tally) into(s *bloomery.Stats, forgets bool) {
	switch {
	case s.Exact || t.unknown() || s.Predicted > tallyRate:
	case forgets && float64(t.items) > forgetShare*float64(s.Capacity):
	default:
		s.Items = t.items
	}
}

// added counts the hashes that were new, and returns how many.
func (t *tally) added(news []bool) int {
	n := 0
	for _, v := range news {
		if v {
			n++
		}
	}
	return t.count(n)
}

// count counts n hashes that were new, and returns n.
func (t *tally) count(n int) int {
	if !t.unknown() {
		t.items += uint64(n)
	}
	return n
}

// removed counts a hash that is there no more.
func (t *tally) removed() {
	if !t.unknown() {
		t.items -= min(t.items, 1)
	}
}

// newTally returns the tally of an empty filter. Kinds that count their items, and
// windows, whose items go by themselves, need none.
func newTally(f bloomery.Hashed, forgets bool) tally {
	switch f.(type) {
	case interface{ EstimateCount() uint64 }, *composed.Quorum:
		return tally{}
	}
	if forgets {
		return tally{}
	}
	return tally{uncounted}
}

// littleBytes is how much of a filter is read to count its items anew while others wait.
const littleBytes = 4 << 20

// estimate begins anew, with the items that the bits of f show. An array of more than
// most bytes is not read: then the tally is unknown.
func (t *tally) estimate(f bloomery.Hashed, most uint64) {
	*t = tally{uncounted}
	if c, ok := f.(interface{ EstimateCount() uint64 }); ok && f.Stats().Bytes <= most {
		*t = tally{c.EstimateCount()}
	}
}

// Items returns how many items the part counts, or has counted as new, without looking at
// its array. It reports known as false if that would be needed, and ok as Probe does.
func (p *Part) Items(wait bool) (n uint64, known, ok bool) {
	ok = p.look(wait, func(c Contents) {
		f, ok := c.(*Filter)
		if ok && !f.news.unknown() {
			n, known = f.news.items, true
			return
		}
		if row := p.Row(); row != nil && row.Features.Insert && !row.Features.Forget { // they count
			s := c.Stats()
			n, known = s.Items, s.Exact
		}
	})
	return n, known, ok
}

// Counted reports whether Items is the number of items of a filter with so high a
// predicted false positive rate.
func Counted(predicted float64) bool { return predicted <= tallyRate }
