// Package checkup shows filters of the store to package health, which judges them and
// knows no names, locks or parts.
package checkup

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/health"
	"github.com/bloomery/bloomery/server/internal/status"
	"github.com/bloomery/bloomery/server/internal/store"
)

// Filters is the filters of a state, as a source of health.
type Filters struct {
	State *store.State
	Clock func() time.Time
	Can   status.Abilities
}

var _ health.Source = (*Filters)(nil)

// Keeper returns what probes and judges the filters.
func (f *Filters) Keeper() *health.Keeper {
	return health.New(health.Config{Source: f, Now: f.Clock, Work: Worked(), Seed: rand.Uint64()})
}

// Of returns the filter of an entry, nil if it is none. Its methods wait for the locks of
// the filter.
func (f *Filters) Of(entry *catalog.Entry) health.Subject { return f.of(entry, true) }

func (f *Filters) of(entry *catalog.Entry, wait bool) health.Subject {
	if !contents.IsFilter(entry) {
		return nil
	}
	return filter{f.State, entry, wait, f.Can, nil}
}

// Some returns those parts of a filter that only reports true for, without the others. It is nil if the entry is no
// filter. Its methods wait for the locks of the parts.
func (f *Filters) Some(entry *catalog.Entry, only func(*contents.Part) bool) health.Subject {
	if !contents.IsFilter(entry) {
		return nil
	}
	return filter{f.State, entry, true, f.Can, only}
}

// Known returns what is known of a filter whose contents may be elsewhere.
func (f *Filters) Known(entry *catalog.Entry) health.Look {
	l := health.Look{Parts: contents.PartCount(entry), Can: f.Can}
	first := contents.PartOf(entry)
	if plan := first.Plan(); plan != nil {
		l.SLA, l.Budget = time.Duration(min(plan.SLA, math.MaxInt32))*time.Microsecond, plan.Budget
	}
	if made := first.Made(); made > 0 {
		l.Created = time.Unix(made, 0)
	}
	return l
}

// Len implements health.Source.
func (f *Filters) Len() int { return f.State.Names.Len() }

// Subject implements health.Source.
func (f *Filters) Subject(id uint64) health.Subject {
	entry := f.State.Names.ByID(id)
	if entry == nil {
		return nil
	}
	return f.of(entry, false)
}

// Walk implements health.Source.
func (f *Filters) Walk(cursor uint64, visit func(health.Subject)) uint64 {
	const few = 16
	var seen [2 * few]*catalog.Entry
	list := seen[:0]
	next := f.State.Names.Scan(cursor, few, f.Clock().UnixMilli(), func(v catalog.View) { list = append(list, v.Entry) })
	for _, entry := range list {
		if w := f.of(entry, false); w != nil {
			visit(w)
		}
	}
	return next
}

// filter is a filter as its health sees it, all of its parts together. If other nodes hold some of
// them, those that are here stand for all.
type filter struct {
	state *store.State
	entry *catalog.Entry
	wait  bool // for locks
	can   status.Abilities
	only  func(*contents.Part) bool // nil for all
}

// here reports whether a part is looked at.
func (f filter) here(p *contents.Part) bool {
	if f.only != nil {
		return f.only(p)
	}
	return f.state.Answers(p)
}

// parts returns the parts that are looked at, and how many they stand for.
func (f filter) parts() (list []*contents.Part, all int) {
	for _, p := range contents.Parts(f.entry) {
		if f.here(p) {
			list = append(list, p)
		}
	}
	if f.only != nil {
		return list, len(list)
	}
	return list, contents.PartCount(f.entry)
}

// ID implements health.Subject.
func (f filter) ID() uint64 { return f.entry.ID }

// Version implements health.Subject: the changes of all parts.
func (f filter) Version() (uint64, bool) { return f.sum((*contents.Part).Glance) }

// Bytes implements health.Subject: those that are here.
func (f filter) Bytes() (uint64, bool) { return f.sum((*contents.Part).Size) }

func (f filter) sum(of func(p *contents.Part, wait bool) (uint64, bool)) (sum uint64, ok bool) {
	for _, p := range contents.Parts(f.entry) {
		if !f.here(p) {
			continue
		}
		n, there := of(p, f.wait)
		if !there {
			return 0, false
		}
		sum, ok = sum+n, true
	}
	return sum, ok
}

// Probe implements health.Subject. Each hash is asked of the part that it names, or of another one
// if that is not here; if one of them cannot be asked at the moment, all count as not asked.
func (f filter) Probe(r *rand.Rand) (yes int, ok bool) {
	var hashes, same [health.Batch]uint64
	var found, done [health.Batch]bool
	for i := range hashes {
		hashes[i] = r.Uint64()
	}
	log := uint(bits.Len(uint(contents.PartCount(f.entry))) - 1)
	if log == 0 {
		return contents.PartOf(f.entry).Probe(found[:], hashes[:], f.wait)
	}
	for i, h := range hashes {
		if done[i] {
			continue
		}
		part, n := bloomery.Route(h, log), 0
		for j := i; j < len(hashes); j++ {
			if !done[j] && bloomery.Route(hashes[j], log) == part {
				same[n], done[j] = hashes[j], true
				n++
			}
		}
		p := contents.PartAt(f.entry, uint32(part))
		if !f.here(p) {
			list, _ := f.parts()
			if len(list) == 0 {
				return 0, false
			}
			p = list[part%len(list)]
		}
		got, ok := p.Probe(found[:n], same[:n], f.wait)
		if !ok {
			return 0, false
		}
		yes += got
	}
	return yes, true
}

// Look implements health.Subject. It looks at some parts, at others after each change.
func (f filter) Look() (l health.Look, ok bool) {
	list, parts := f.parts()
	step := max(len(list)/contents.LookParts, 1)
	var version uint64
	if parts > 1 {
		if version, ok = f.Version(); !ok {
			return l, false
		}
	}
	var looks []contents.Look
	for i := int(version % uint64(step)); i < len(list); i += step {
		v, ok := list[i].Look(f.wait)
		if !ok {
			return l, false
		}
		looks = append(looks, v)
	}
	if len(looks) == 0 {
		return l, false
	}
	l = (&Filters{Can: f.can}).Known(f.entry)
	l.Stats, l.Version, l.Layers, l.Grows, l.Folds, l.Sourced, l.Parts = combine(looks, parts), looks[0].Version, looks[0].Layers, looks[0].Grows, looks[0].Folds, looks[0].Sourced, parts
	if parts > 1 {
		if l.Items, ok = f.items(&l, list); !ok {
			return l, false
		}
		l.Version, l.Exact = version, l.Exact && len(list) == parts
		if l.Bytes, ok = f.Bytes(); !ok {
			return l, false
		}
		l.Bytes = scaled(l.Bytes, parts, len(list))
	}
	if l.Reported, ok = f.sum((*contents.Part).GoneItems); !ok {
		return l, false
	}
	l.Reported = scaled(l.Reported, parts, len(list))
	l.Gone = min(l.Reported, l.Items)
	return l, true
}

// scaled returns what n parts of all stand for.
func scaled(sum uint64, all, n int) uint64 {
	if all == n {
		return sum
	}
	return wholeNumber(float64(sum) * float64(all) / float64(n))
}

// items returns the number of items of a filter of several parts of which l is a look:
// what all of them have counted, if they have, otherwise that of the look.
func (f filter) items(l *health.Look, list []*contents.Part) (n uint64, ok bool) {
	if !l.Exact && !contents.Counted(l.Predicted) {
		return l.Items, true
	}
	for _, p := range list {
		items, known, ok := p.Items(f.wait)
		if !ok || !known {
			return l.Items, ok
		}
		n += items
	}
	return scaled(n, l.Parts, len(list)), true
}

// combine returns the state of a filter from those of some of its parts. A key is
// in one part, and all get equally many: rates and shares are means. Parts that were
// not looked at are like the others, up to their variance.
func combine(looks []contents.Look, parts int) bloomery.Stats {
	sum := looks[0].Stats
	n := float64(len(looks))
	if parts == 1 {
		return sum
	}
	var items, saturation, overflow, predicted, squares, variance float64
	exact, skew := true, 0.0
	for _, v := range looks {
		items += float64(v.Items)
		saturation += v.Saturation
		overflow += v.Overflow
		predicted += v.Predicted
		squares += v.Predicted * v.Predicted
		variance += v.PredictedSigma * v.PredictedSigma
		exact, skew = exact && v.Exact, max(skew, v.Skew)
	}
	scale := float64(parts) / n
	mean := predicted / n
	among := max(squares/n-mean*mean, 0) * n / max(n-1, 1) // the variance among parts
	sum.Capacity *= uint64(parts)
	sum.Bits *= uint64(parts)
	sum.Items = wholeNumber(items * scale)
	sum.Exact = exact
	sum.Saturation, sum.Overflow, sum.Predicted, sum.Skew = saturation/n, overflow/n, mean, skew
	sum.PredictedSigma = math.Sqrt(variance/(n*n) + among/n*(1-n/float64(parts)))
	return sum
}

// wholeNumber rounds, and keeps what is too large to be counted.
func wholeNumber(v float64) uint64 {
	if v >= math.MaxInt64 {
		return math.MaxUint64
	}
	return uint64(v + 0.5)
}
