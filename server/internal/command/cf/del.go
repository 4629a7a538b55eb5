package cf

// CF.DEL, and the compaction behind it.

import (
	"math"

	"github.com/bloomery/bloomery/server/internal/bundle"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// del is CF.DEL key item.
var del = engine.Command{
	Name: "cf.del", Arity: 3, Flags: traits.Write | traits.Module | traits.Fast, Keys: traits.OneKey(traits.KeyRW),
	Categories: []string{"write", "cuckoo", "delete"}, Group: traits.GroupCuckoo, Since: "1.0.0",
	Syntax: "key item", Complexity: "O(n), n being the number of sub-filters; more when the filter is compacted",
	Summary: "Removes one occurrence of an item from a cuckoo filter. Remove only what was added.",
	On: &bundle.OnFilter{
		Family: family, Single: true,
		Write: &bundle.Writing{
			Body: func(m *store.Scratch, terms bundle.Terms) store.Items {
				m.CuckooDelete = store.CuckooDelete{Lazily: true, Steps: stepsAtOnce(terms)}
				return &m.CuckooDelete
			},
			Deletes: true, Merge: true,
			Reply: func(c *engine.Call, res *store.Result) {
				c.AnswerBools(res.Bools)
				if res.N != 0 {
					c.Option = compactionDue{}
				}
			},
		},
		Absent:  func(c *engine.Call) { c.Fail(textMissing) },
		Foreign: func(c *engine.Call) { c.Fail(textMissing) },
	},
	After: afterDel,
}

// compactSteps is up to how many steps, each of some tens of nanoseconds, a filter
// is compacted at once when much was deleted, as RedisBloom does it. What takes
// longer is done in pieces behind the command, while others use the filter.
const compactSteps = 16 << 10

// stepsAtOnce is how many steps a filter may be compacted at once behind deletes.
func stepsAtOnce(terms bundle.Terms) uint64 {
	if terms.Others == math.MaxInt { // they may fill it, too
		return 0
	}
	p := terms.Part
	p.RLock()
	defer p.RUnlock()
	if p.Gone() || !p.Cuckoo().CompactsIn(compactSteps, terms.Items+terms.Others) {
		return 0
	}
	return compactSteps
}

// compactionDue is the Option of a call behind which a filter is compacted.
type compactionDue struct{}

func afterDel(x *engine.Context, c *engine.Call) {
	if _, due := c.Option.(compactionDue); !due {
		return
	}
	var entry *catalog.Entry
	x.Look(func() { entry = x.Names().Lookup(c.Args[1]) })
	if entry != nil && entry.Kind == catalog.Cuckoo {
		_ = compactInPieces(x, entry, true) // what is not kept is done at the next delete
	}
}
