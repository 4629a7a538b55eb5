package health

// Meter: what connections do to a filter.

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// Slots is how many copies of its counters a Meter has, so that connections on
// different processors do not share a cache line.
const Slots = 16

// Work is what a call does to a filter.
type Work uint8

// The kinds of work. Add and Has are timed.
const (
	Other  Work = iota
	Add         // puts items in
	Has         // asks for items
	Delete      // removes items
	Count       // asks how often items are there
	works
)

// timed is how many kinds of work have a histogram; timing returns its place.
const timed = 2

func timing(w Work) int { return int(w) - int(Add) }

// Meter counts the use of one filter. The zero value is ready to use.
//
// Safe for concurrent use.
type Meter struct {
	slots  [Slots]atomic.Pointer[slotMeter]
	clears atomic.Uint32 // how often the filter was emptied
}

// clear notes that the filter was emptied: what it has answered before counts no more.
func (m *Meter) clear() {
	for i := range m.slots {
		if s := m.slots[i].Load(); s != nil {
			s.asked.Store(0)
			s.no.Store(0)
		}
	}
	m.clears.Add(1)
}

// slotMeter is what the connections of one slot have done. It is larger than a
// cache line and made when it is first needed.
type slotMeter struct {
	calls [works]atomic.Uint64 // of work that is not timed
	asked atomic.Uint64        // items that were looked up
	no    atomic.Uint64        // of those: items that the filter did not have
	took  [timed][buckets]atomic.Uint32

	waited [timed]atomic.Uint64 // nanoseconds of all calls together, for other machines
}

// Note counts calls that were run together and took so long each, on the average. They
// have looked up so many items, of which no were answered negatively.
func (m *Meter) Note(slot int, w Work, each time.Duration, calls, asked, no int) {
	s := m.slots[slot%Slots].Load()
	if s == nil {
		s = new(slotMeter)
		if !m.slots[slot%Slots].CompareAndSwap(nil, s) {
			s = m.slots[slot%Slots].Load()
		}
	}
	if asked > 0 {
		s.asked.Add(uint64(asked))
	}
	if no > 0 {
		s.no.Add(uint64(no))
	}
	if i := timing(w); i >= 0 && i < timed {
		s.took[i][bucketOf(each)].Add(uint32(calls))
		return
	}
	s.calls[w].Add(uint64(calls))
}

// Waited counts that calls that are noted have waited for other machines, each for so long.
func (m *Meter) Waited(slot int, w Work, each time.Duration, calls int) {
	if i := timing(w); i >= 0 && i < timed {
		m.slots[slot%Slots].Load().waited[i].Add(uint64(each) * uint64(calls))
	}
}

// drained is what a Meter has counted since it was last drained.
type drained struct {
	calls [works]uint64
	asked uint64
	no    uint64
	took  [timed]histogram

	waited [timed]time.Duration
}

// drain adds the counts to d and begins again at 0. It reports whether there were
// any.
func (m *Meter) drain(d *drained) (some bool) {
	for i := range m.slots {
		s := m.slots[i].Load()
		if s == nil {
			continue
		}
		for w := range s.calls {
			if s.calls[w].Load() > 0 {
				d.calls[w] += s.calls[w].Swap(0)
				some = true
			}
		}
		for j := range s.took {
			for b := range s.took[j] {
				if s.took[j][b].Load() > 0 {
					n := uint64(s.took[j][b].Swap(0))
					d.took[j][b] += n
					d.calls[int(Add)+j] += n
					some = true
				}
			}
		}
		for j := range s.waited {
			if s.waited[j].Load() > 0 {
				d.waited[j] += time.Duration(s.waited[j].Swap(0))
			}
		}
		d.asked += s.asked.Swap(0)
		d.no += s.no.Swap(0)
	}
	return some
}

// Histograms have 4 buckets for every doubling, from 1/4 µs to 262 ms; the last
// has everything longer.
const (
	leastTook  = 250 * time.Nanosecond
	perOctave  = 4
	octaves    = 20
	buckets    = octaves*perOctave + 1
	bucketFrac = 2 // bits of a bucket below the octave
)

// bucketOf returns the bucket of a time.
func bucketOf(took time.Duration) int {
	if took < leastTook {
		return 0
	}
	// Fixed point in quarters of the least time: the octave is the length, the
	// two bits behind the first are the place in it.
	q := uint64(took) << bucketFrac / uint64(leastTook)
	octave := bits.Len64(q) - 1 - bucketFrac
	return min(1+octave*perOctave+int(q>>octave&(perOctave-1)), buckets-1)
}

// bucketEnd returns the upper end of a bucket.
func bucketEnd(b int) time.Duration {
	if b == 0 {
		return leastTook
	}
	octave, part := (b-1)/perOctave, (b-1)%perOctave
	return leastTook << octave * time.Duration(perOctave+part+1) / perOctave
}

// histogram is how many calls took how long.
type histogram [buckets]uint64

func (h *histogram) add(o *histogram) {
	for i, n := range o {
		h[i] += n
	}
}

func (h *histogram) total() (n uint64) {
	for _, v := range h {
		n += v
	}
	return n
}

// Latency is the distribution of the time that calls took, over the last 5 to 10
// minutes. Percentiles are rounded up to the end of their bucket, by at most a
// quarter.
type Latency struct {
	Calls          uint64
	P50, P99, P999 time.Duration
	// Waited is for how long calls have waited for other machines, on average.
	Waited time.Duration
}

// latency returns the percentiles of a histogram.
func (h *histogram) latency() Latency {
	l := Latency{Calls: h.total()}
	l.P50, l.P99, l.P999 = h.quantile(l.Calls, 0.5), h.quantile(l.Calls, 0.99), h.quantile(l.Calls, 0.999)
	return l
}

func (h *histogram) quantile(total uint64, q float64) time.Duration {
	if total == 0 {
		return 0
	}
	rank := uint64(q * float64(total))
	rank = min(rank, total-1)
	for b, n := range h {
		if rank < n {
			return bucketEnd(b)
		}
		rank -= n
	}
	return bucketEnd(buckets - 1)
}
