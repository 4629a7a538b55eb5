package cf

import (
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// compact is CF.COMPACT key. RedisBloom flags it readonly, although it writes:
// clients see that flag, and the engine treats it as the write it is.
//
// A large filter takes seconds, so it is compacted in pieces, between which others
// use it. In a transaction that is done behind the last command: it moves items
// and changes no answer about them.
var compact = engine.Command{
	Name: "cf.compact", Arity: -1, Flags: traits.ReadOnly | traits.Module | traits.Fast | traits.Wrote | traits.Outside,
	Keys:       traits.OneKey(traits.KeyUpdate),
	Categories: []string{"read", "cuckoo"}, Group: traits.GroupCuckoo, Since: "1.0.0",
	Syntax: "key", Complexity: "O(s), s being the number of slots",
	Summary: "Moves the items of a cuckoo filter into its older sub-filters, as far as there is room.",
	Cost:    engine.ByKeys((*engine.Costs).Visit),
	Run:     runCompact,
}

// runCompact counts the arguments: the table says "any number", as RedisBloom's
// does.
func runCompact(x *engine.Context, c *engine.Call) {
	if len(c.Args) != 2 {
		c.Answer(answer.WrongArity(c.Command().Name))
		return
	}
	var entry *catalog.Entry
	x.Look(func() { entry = x.Names().Lookup(c.Args[1]) })
	switch {
	case entry == nil || entry.Kind != catalog.Cuckoo:
		c.Fail(textCompactMissing)
	case x.Alone():
		c.AnswerLater(func() answer.Reply { return compactInPieces(x, entry, false) })
	default:
		c.Answer(compactInPieces(x, entry, false))
	}
}

// A piece asks stepsPerPiece sub-filters for room, fewer if buckets are large, which takes less than a millisecond.
// If there are so many that this would be a few slots, it has up to fewSlots, as long
// as they are empty: a filter of a million tiny sub-filters is done in time.
const (
	stepsPerPiece = 8192
	fewSlots      = 64
)

// compactInPieces compacts a filter; after deletes only while that is due, and as
// far as the first sub-filter that is not empty then. One that is removed meanwhile
// was compacted as far as anybody can see.
func compactInPieces(x *engine.Context, entry *catalog.Entry, deleted bool) answer.Reply {
	p, steps := contents.PartOf(entry), uint64(stepsPerPiece)
	filters := func() (n int, due bool) {
		p.RLock()
		defer p.RUnlock()
		if p.Gone() {
			return 0, false
		}
		steps = stepsPerPiece / redisbloom.BucketSteps(p.Cuckoo().BucketSize())
		return p.Cuckoo().Filters(), p.Cuckoo().CompactDue()
	}
	room := func(at redisbloom.Place) uint64 {
		p.RLock()
		defer p.RUnlock()
		if p.Gone() {
			return 1
		}
		return p.Cuckoo().CompactSlots(at, stepsPerPiece)
	}
	n, due := filters()
	if n == 0 || deleted && !due {
		return answer.OK()
	}
	next := store.CuckooCompactPiece{Filter: uint64(n - 1)}
	for {
		if x.Stopped() {
			return answer.Fail(answer.TextStopped)
		}
		o := next
		if o.Slots = steps / (o.Filter + 1); o.Slots < fewSlots {
			o.Slots = min(fewSlots, room(redisbloom.Place{Filter: o.Filter, Slot: o.Slot}))
		}
		res, failed := x.Contents().ApplyPiece(p, store.Record{ID: entry.ID, Body: &o})
		switch {
		case failed.Kind != answer.None:
			return failed
		case res.Err != nil || res.Done == 0:
			return answer.OK()
		}
		next.Filter, next.Slot = uint64(res.Done), uint64(res.N)
		if deleted && next.Filter < o.Filter {
			if n, _ := filters(); uint64(n) > o.Filter {
				next.Filter = 0 // it is not empty: a record of sub-filter 0 ends the compaction
			}
		}
	}
}
