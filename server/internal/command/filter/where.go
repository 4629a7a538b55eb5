package filter

// FILTER.WHERE.

import (
	"slices"
	"strings"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/foreign/redisbloom"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/store"
)

// where is FILTER.WHERE pattern item [item ...].
var where = engine.Command{
	Name: "filter.where", Arity: -3, Flags: engine.ReadOnly | engine.Heavy | engine.Outside,
	Categories: []string{"read", "filter", "slow"}, Group: engine.GroupFilter, Since: "0.2.0",
	Syntax: "pattern item [item ...]", Complexity: "O(n · m), n names and m items",
	Summary: "Returns for each item the names of the filters that may contain it, BF and CF included, among the keys that match a pattern. Filters whose secret key is not in the file of keys are skipped.",
	Cost:    func(x *engine.Costs, c *engine.Call) { x.Ask(len(c.Args) - 2) },
	Run:     runWhere,
}

// whereNames is how many names are looked at inside the gate at a time.
const whereNames = 128

// seeker asks many filters for the same items. They are hashed once for every way in
// which filters hash.
type seeker struct {
	items  [][]byte
	found  []bool
	hashes map[hashOf][]uint64

	plans []*store.Plan // of the filters that are asked next
	plan  *store.Plan   // of the last filter
	last  []uint64      // its hashes

	blooms, narrow []redisbloom.Digest
	cuckoos        []uint64
}

// hashOf stands for a way to hash.
type hashOf struct {
	kind  hashing.Kind
	check uint64
}

func runWhere(x *engine.Context, c *engine.Call) {
	match := matcher(string(c.Args[1]))
	s := &seeker{items: c.Args[2:], found: make([]bool, len(c.Args)-2), hashes: map[hashOf][]uint64{}}
	if !x.Hold(64 * len(s.items)) {
		c.Fail(engine.TextOOM)
		return
	}
	names := make([][]engine.Reply, len(s.items))
	seen := make([]catalog.View, 0, 2*whereNames)
	room := true
	for cursor, more := uint64(0), true; more && room; more = cursor != 0 {
		x.Look(func() {
			seen = seen[:0]
			cursor = x.Scan(cursor, whereNames, func(v catalog.View) {
				if v.Entry.Kind != catalog.String {
					seen = append(seen, v)
				}
			})
			seen = slices.DeleteFunc(seen, func(v catalog.View) bool { return !match(v.Name) })
			s.reach(seen)
			for i, v := range seen {
				if !s.ask(x, v.Entry, s.plans[i]) {
					continue
				}
				for i, found := range s.found {
					if found {
						names[i] = append(names[i], engine.Text(v.Name))
						room = room && x.Hold(len(v.Name)+128)
					}
				}
			}
		})
	}
	if !room {
		c.Fail(engine.TextOOM)
		return
	}
	pairs := make([]engine.Reply, 0, 2*len(names))
	for i, list := range names {
		pairs = append(pairs, engine.Text(string(s.items[i])), engine.List(unique(list)...))
	}
	c.Answer(engine.Pairs(pairs...))
}

// matcher returns what decides whether a name matches a pattern. The usual one, a
// prefix and a star, is decided by comparing.
func matcher(pattern string) func(string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok && !strings.ContainsAny(prefix, `*?[\`) {
		return func(name string) bool { return strings.HasPrefix(name, prefix) }
	}
	return engine.NewPattern(pattern).Match
}

// unique sorts names, and removes those that a scan has met twice.
func unique(list []engine.Reply) []engine.Reply {
	slices.SortFunc(list, func(a, b engine.Reply) int {
		switch {
		case a.Text < b.Text:
			return -1
		case a.Text > b.Text:
			return 1
		}
		return 0
	})
	return slices.CompactFunc(list, func(a, b engine.Reply) bool { return a.Text == b.Text })
}

// reach follows the pointers to all filters that are asked next, before the first of
// them is locked: processors wait for several of them at once, and for one lock
// after the other.
func (s *seeker) reach(seen []catalog.View) {
	s.plans = s.plans[:0]
	for _, v := range seen {
		var plan *store.Plan
		if v.Entry.Kind == catalog.Filter {
			plan = store.PartOf(v.Entry).Plan()
		}
		s.plans = append(s.plans, plan)
	}
}

// ask asks a filter for all items. It reports false if it is no filter, is gone or
// cannot be read.
func (s *seeker) ask(x *engine.Context, entry *catalog.Entry, plan *store.Plan) bool {
	p := store.PartOf(entry)
	switch entry.Kind {
	case catalog.Filter:
		return plan != nil && s.askFilter(x, entry, p, plan)
	case catalog.Bloom:
		return s.askBloom(p)
	case catalog.Cuckoo:
		return s.askCuckoo(p)
	}
	return false
}

func (s *seeker) askFilter(x *engine.Context, entry *catalog.Entry, p *store.Part, plan *store.Plan) bool {
	if plan != s.plan {
		h, usable := p.Hasher()
		if !usable {
			return false
		}
		s.plan, s.last = plan, s.hashed(h)
	}
	if plan.Generation != 0 && advance(x, entry) {
		return s.askFilter(x, entry, p, plan)
	}
	if plan.Parts == 0 {
		return s.askOne(p)
	}
	for i, h := range s.last {
		ok := false
		if s.found[i], ok = askPart(store.PartAt(entry, uint32(bloomery.Route(h, uint(plan.Parts)))), h); !ok {
			return false
		}
	}
	return true
}

// askOne asks a filter of one part.
func (s *seeker) askOne(p *store.Part) bool {
	p.RLock()
	gone := p.Gone()
	switch {
	case gone:
	case len(s.last) == 1:
		s.found[0] = p.Filter().ContainsHash(s.last[0])
	default:
		p.Filter().ContainsHashes(s.found, s.last)
	}
	p.RUnlock()
	return !gone
}

func askPart(p *store.Part, h uint64) (found, ok bool) {
	p.RLock()
	defer p.RUnlock()
	if p.Gone() {
		return false, false
	}
	return p.Filter().ContainsHash(h), true
}

// hashed returns the hashes of the items.
func (s *seeker) hashed(h hashing.Hasher) []uint64 {
	of := hashOf{h.Kind(), h.Check()}
	hashes, ok := s.hashes[of]
	if !ok {
		hashes = make([]uint64, len(s.items))
		h.HashKeys(hashes, s.items)
		s.hashes[of] = hashes
	}
	return hashes
}

func (s *seeker) askBloom(p *store.Part) bool {
	p.RLock()
	defer p.RUnlock()
	if p.Gone() {
		return false
	}
	digests, digest := &s.blooms, redisbloom.BloomDigest
	if p.Bloom().Narrow() {
		digests, digest = &s.narrow, redisbloom.BloomDigest32
	}
	for i := len(*digests); i < len(s.items); i++ {
		*digests = append(*digests, digest(s.items[i]))
	}
	p.Bloom().ContainsDigests(s.found, *digests)
	return true
}

func (s *seeker) askCuckoo(p *store.Part) bool {
	p.RLock()
	defer p.RUnlock()
	if p.Gone() {
		return false
	}
	for i := len(s.cuckoos); i < len(s.items); i++ {
		s.cuckoos = append(s.cuckoos, redisbloom.CuckooDigest(s.items[i]))
	}
	p.Cuckoo().ContainsDigests(s.found, s.cuckoos)
	return true
}
