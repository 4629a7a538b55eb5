// Package where is FILTER.WHERE: which filters may contain an item.
package where

import (
	"slices"
	"strings"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/filters"
	"github.com/bloomery/bloomery/server/internal/glob"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// Command is FILTER.WHERE pattern item [item ...].
var Command = engine.Command{
	Name: "filter.where", Arity: -3, Flags: traits.ReadOnly | traits.Heavy | traits.Outside | traits.Contents,
	Categories: []string{"read", "filter", "slow"}, Group: traits.GroupFilter, Since: "0.1.0",
	Syntax: "pattern item [item ...]", Complexity: "O(n · m), n names and m items",
	Summary:  "Returns for each item the names of the filters that may contain it, BF and CF included, among the keys that match a pattern. Filters whose secret key is not in the file of keys are skipped. If no node that holds a filter is up, an error that names it follows the names.",
	Cost:     func(x *engine.Costs, c *engine.Call) { x.Ask(c.Args[2:], c.Args[1:2]) },
	Assemble: assembleWhere,
	Run:      runWhere,
}

const (
	// whereNames is how many names are looked at inside the gate at a time.
	whereNames = 128
	// whereItems is how many items a filter is asked for under its lock.
	whereItems = 256
	// whereHashes is for how many ways to hash the hashes of all items are kept.
	whereHashes = 8
)

// seeker asks many filters for the same items. They are hashed once for every way in
// which filters hash. All memory that grows with the items is counted first.
type seeker struct {
	x      *engine.Context
	items  [][]byte
	found  []bool
	full   bool // there is no room for more
	hashes map[hashOf][]uint64
	rows   []whereRow
	asked  int // items of small filters, since others have had their turn

	plans []*contents.Plan // of the filters that are asked next
	plan  *contents.Plan   // of the last filter
	last  []uint64         // its hashes

	blooms, narrow []redisbloom.Digest
	cuckoos        []uint64
}

// hashOf stands for a way to hash.
type hashOf struct {
	kind  hashing.Kind
	check uint64
}

// runWhere looks at names inside the gate, a few at a time, and asks each filter for a
// few items at a time, between which others have their turn.
func runWhere(x *engine.Context, c *engine.Call) {
	match := matcher(string(c.Args[1]))
	s := &seeker{x: x, items: c.Args[2:], hashes: map[hashOf][]uint64{}}
	if s.take(len(s.items)) {
		s.found = make([]bool, len(s.items))
	}
	var seen []catalog.View
	for cursor, more := uint64(0), true; more && !s.full; more = cursor != 0 {
		if x.GaveUp(c) {
			return
		}
		cursor = x.Names().Scan(cursor, whereNames, &seen)
		seen = slices.DeleteFunc(seen, func(v catalog.View) bool { return v.Entry.Kind == catalog.String || !match(v.Name) })
		x.Look(func() {
			s.reach(seen)
			for i, v := range seen {
				if s.ask(v.Entry, s.plans[i]) && slices.Contains(s.found, true) {
					s.note(v.Name)
				}
			}
		})
	}
	if !x.GaveUp(c) {
		c.Answer(s.reply())
	}
}

// take counts memory until the reply is written. If there is no room the search ends.
func (s *seeker) take(bytes int) bool {
	s.full = s.full || !s.x.Hold(bytes)
	return !s.full
}

// matcher returns what decides whether a name matches a pattern. The usual one, a
// prefix and a star, is decided by comparing.
func matcher(pattern string) func(string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok && !strings.ContainsAny(prefix, `*?[\`) {
		return func(name string) bool { return strings.HasPrefix(name, prefix) }
	}
	return glob.New(pattern).Match
}

// reach follows the pointers to all filters that are asked next, before the first of
// them is locked: processors wait for several of them at once, and for one lock
// after the other.
func (s *seeker) reach(seen []catalog.View) {
	s.plans = s.plans[:0]
	for _, v := range seen {
		var plan *contents.Plan
		if v.Entry.Kind == catalog.Filter {
			plan = contents.PartOf(v.Entry).Plan()
		}
		s.plans = append(s.plans, plan)
	}
}

// ask asks a filter for all items. It reports false if it is no filter, is gone or
// cannot be read, or if the search has ended.
func (s *seeker) ask(entry *catalog.Entry, plan *contents.Plan) bool {
	p := contents.PartOf(entry)
	if contents.PartCount(entry) == 1 && !s.x.Contents().Mine(entry, p) {
		return false
	}
	if plan != nil && plan == s.plan && plan.Parts == 0 && plan.Generation == 0 && len(s.items) <= whereItems {
		if s.asked += len(s.items); s.asked >= whereItems {
			s.x.Worked(s.asked)
			s.asked = 0
		}
		return s.askOne(p, 0, len(s.items)) // the usual: one item in many filters that are alike
	}
	if !s.prepare(entry, p, plan) {
		return false
	}
	step := min(whereItems, p.Run())
	for at := 0; at < len(s.items); at += step {
		if at > 0 && s.x.Stopped() {
			return false
		}
		to := min(at+step, len(s.items))
		if !s.askSome(entry, p, plan, at, to) {
			return false
		}
		s.x.Worked(whereItems * (to - at) / step)
	}
	return true
}

// askOne asks a filter of one part for some items.
func (s *seeker) askOne(p *contents.Part, from, to int) bool {
	p.RLock()
	gone := p.Gone()
	switch {
	case gone:
	case to-from == 1:
		s.found[from] = p.Filter().ContainsHash(s.last[from])
	default:
		p.Filter().ContainsHashes(s.found[from:to], s.last[from:to])
	}
	p.RUnlock()
	return !gone
}

// prepare makes the digests for a filter. It reports false if it is not to be asked.
func (s *seeker) prepare(entry *catalog.Entry, p *contents.Part, plan *contents.Plan) bool {
	switch entry.Kind {
	case catalog.Filter:
		return plan != nil && s.hashFor(p, plan) && (plan.Generation == 0 || s.advance(entry))
	case catalog.Bloom:
		if p.Bloom().Narrow() {
			return digestAll(s, &s.narrow, redisbloom.BloomDigest32, bloomDigestBytes)
		}
		return digestAll(s, &s.blooms, redisbloom.BloomDigest, bloomDigestBytes)
	case catalog.Cuckoo:
		return digestAll(s, &s.cuckoos, redisbloom.CuckooDigest, hashBytes)
	}
	return false
}

// askSome asks a filter for some items. It reports false if the filter is gone.
func (s *seeker) askSome(entry *catalog.Entry, p *contents.Part, plan *contents.Plan, from, to int) bool {
	switch {
	case plan != nil && plan.Parts > 0:
		return s.askParts(entry, plan, from, to)
	case plan != nil:
		return s.askOne(p, from, to)
	}
	p.RLock()
	defer p.RUnlock()
	if p.Gone() {
		return false
	}
	switch found := s.found[from:to]; {
	case entry.Kind == catalog.Cuckoo:
		p.Cuckoo().ContainsDigests(found, s.cuckoos[from:to])
	case p.Bloom().Narrow():
		p.Bloom().ContainsDigests(found, s.narrow[from:to])
	default:
		p.Bloom().ContainsDigests(found, s.blooms[from:to])
	}
	return true
}

// advance lets time pass for a window, as often as others get in between. It reports
// false if the search has ended.
func (s *seeker) advance(entry *catalog.Entry) bool {
	for filters.Advance(s.x, entry) {
		if s.x.Stopped() {
			return false
		}
	}
	return true
}

// hashBytes and bloomDigestBytes are what an item takes for each way to hash.
const (
	hashBytes        = 8
	bloomDigestBytes = 16
)

// hashFor hashes the items as a filter does. It reports false if the filter has no key,
// or there is no room.
func (s *seeker) hashFor(p *contents.Part, plan *contents.Plan) bool {
	if plan == s.plan {
		return true
	}
	h, usable := p.Hasher()
	if !usable {
		return false
	}
	of := hashOf{h.Kind(), h.Check()}
	hashes, ok := s.hashes[of]
	if !ok {
		if len(s.hashes) == whereHashes {
			clear(s.hashes)
			s.x.Unhold(whereHashes * hashBytes * len(s.items))
		}
		if !s.take(hashBytes * len(s.items)) {
			return false
		}
		hashes = make([]uint64, len(s.items))
		s.pieces(func(from, to int) { h.HashKeys(hashes[from:to], s.items[from:to]) })
		s.hashes[of] = hashes
	}
	s.plan, s.last = plan, hashes
	return true
}

// digestAll makes the digests of all items, once. It reports false if there is no room.
func digestAll[D any](s *seeker, digests *[]D, digest func([]byte) D, size int) bool {
	if *digests == nil && s.take(size*len(s.items)) {
		all := make([]D, 0, len(s.items))
		s.pieces(func(from, to int) {
			for _, item := range s.items[from:to] {
				all = append(all, digest(item))
			}
		})
		*digests = all
	}
	return !s.full
}

// pieces calls f for all items, some of them at a time, between which others have their
// turn.
func (s *seeker) pieces(f func(from, to int)) {
	for from := 0; from < len(s.items); from += whereItems {
		to := min(from+whereItems, len(s.items))
		f(from, to)
		if to-from == whereItems {
			s.x.Worked(whereItems)
		}
	}
}

// askParts asks a filter of several parts.
func (s *seeker) askParts(entry *catalog.Entry, plan *contents.Plan, from, to int) bool {
	for i := from; i < to; i++ {
		h, ok := s.last[i], false
		p := contents.PartAt(entry, uint32(bloomery.Route(h, uint(plan.Parts))))
		if s.found[i] = false; !s.x.Contents().Mine(entry, p) {
			continue
		}
		if s.found[i], ok = askPart(p, h); !ok {
			return false
		}
	}
	return true
}

func askPart(p *contents.Part, h uint64) (found, ok bool) {
	p.RLock()
	defer p.RUnlock()
	if p.Gone() {
		return false, false
	}
	return p.Filter().ContainsHash(h), true
}
