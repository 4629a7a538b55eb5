package filter

// FILTER.FALSE and FILTER.REPAIR.

import (
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// falseCmd is FILTER.FALSE key item [item ...].
var falseCmd = engine.Command{
	Name: "filter.false", Arity: -3, Flags: traits.ReadOnly | traits.Outside, Keys: traits.OneKey(traits.KeyRO),
	Categories: []string{"read", "filter", "slow"}, Group: traits.GroupFilter, Since: "0.1.0",
	Syntax: "key item [item ...]", Complexity: "O(n), n being the number of items",
	Summary: "Counts false positives of the traffic: items that the filter contains and the caller's exact store does not. Returns for each whether the filter still contains it, so that it was counted.",
	Cost:    engine.ByItems,
	Split:   splitItems,
	Run:     runFalse,
}

// repair is FILTER.REPAIR key item [item ...].
var repair = engine.Command{
	Name: "filter.repair", Arity: -3, Flags: traits.Write | traits.DenyOOM | traits.Outside, Keys: traits.OneKey(traits.KeyRW),
	Categories: []string{"write", "filter", "slow"}, Group: traits.GroupFilter, Since: "0.1.0",
	Syntax: "key item [item ...]", Complexity: "O(n), n being the number of items",
	Summary: "Adds items that the caller's exact store contains and the filter does not, counts them and raises an alarm: this should never be needed. Returns for each whether it was missing.",
	Cost:    func(x *engine.Costs, c *engine.Call) { x.Add(c.Args[1], c.Args[2:]) },
	Split:   splitItems,
	Run:     runRepair,
}

// speech is the commands by which filters of a kind are asked and added to.
type speech struct {
	has string
	add []string // what is behind the key
}

// speeches are those of RedisBloom's kinds; all others speak FILTER.
var speeches = map[catalog.Kind]speech{
	catalog.Bloom:  {"bf.mexists", []string{"bf.insert", "NOCREATE", "ITEMS"}},
	catalog.Cuckoo: {"cf.mexists", []string{"cf.insertnx", "NOCREATE", "ITEMS"}},
}

func speechOf(k catalog.Kind) speech {
	if s, ok := speeches[k]; ok {
		return s
	}
	return speech{"filter.has", []string{"filter.add"}}
}

// findAny returns the filter of a name, of whatever kind. If there is none it
// answers and returns nil.
func findAny(x *engine.Context, c *engine.Call) (entry *catalog.Entry) {
	x.Look(func() { entry = x.Names().Read(c.Args[1]) })
	switch {
	case entry == nil:
		c.Fail(answer.TextNotFound)
		return nil
	case !contents.IsFilter(entry):
		c.Fail(answer.TextWrongType)
		return nil
	}
	return entry
}

// ask runs a command of a filter on items. The reply is an error if it could not be
// run for all of them, and is None else.
func ask(x *engine.Context, words []string, key []byte, items [][]byte) ([]bool, answer.Reply) {
	args := [][]byte{[]byte(words[0]), key}
	for _, w := range words[1:] {
		args = append(args, []byte(w))
	}
	r := x.Contents().Nested(append(args, items...)...)
	answers := make([]bool, 0, len(items))
	switch r.Kind {
	case answer.Error:
		return nil, r
	case answer.Bools:
		answers = append(answers, r.Bools...)
		if r.Text != "" {
			return answers, answer.Fail(r.Text)
		}
	case answer.Codes, answer.CodeInts:
		for _, v := range r.Codes {
			if v < 0 {
				return answers, answer.Fail("ERR filter is full")
			}
			answers = append(answers, v > 0)
		}
	case answer.Array:
		for _, v := range r.Elems {
			if v.Failed() {
				return answers, v
			}
			answers = append(answers, v.N == 1)
		}
	}
	return answers, answer.Reply{}
}

func runFalse(x *engine.Context, c *engine.Call) {
	entry := findAny(x, c)
	if entry == nil {
		return
	}
	items := c.Args[2:]
	if !x.Hold(2 * len(items)) {
		c.Fail(answer.TextOOM)
		return
	}
	found, failed := ask(x, []string{speechOf(entry.Kind).has}, c.Args[1], items)
	if failed.Kind != answer.None {
		c.Answer(failed)
		return
	}
	x.Contents().Health().False(entry.ID, yeses(found))
	c.Answer(answer.Reply{Kind: answer.Bools, Bools: found})
}

func yeses(v []bool) (n int) {
	for _, yes := range v {
		if yes {
			n++
		}
	}
	return n
}

// runRepair adds what the filter denies, and nothing else where that changes something: a kind that counts
// would count what it has twice.
func runRepair(x *engine.Context, c *engine.Call) {
	entry := findAny(x, c)
	if entry == nil {
		return
	}
	items, speech := c.Args[2:], speechOf(entry.Kind)
	const each = 64 // bytes of an item in the lists below
	if !x.Hold(each * len(items)) {
		c.Fail(answer.TextOOM)
		return
	}
	found, failed := ask(x, []string{speech.has}, c.Args[1], items)
	if failed.Kind != answer.None {
		c.Answer(failed)
		return
	}
	row := contents.PartOf(entry).Row()
	again := row != nil && contents.CheckSourceKind(row.Name) == nil // it may be there by a source, which can lose it
	var lost [][]byte
	var places []int
	for i, has := range found {
		if !has || again {
			lost, places = append(lost, items[i]), append(places, i)
		}
	}
	clear(found) // from here on: which were missing and are there now
	if len(lost) > 0 {
		added, failed := ask(x, speech.add, c.Args[1], lost)
		for i, isNew := range added {
			found[places[i]] = isNew
		}
		if n := yeses(added); n > 0 {
			x.Contents().Health().Repaired(entry.ID, n)
		}
		if failed.Kind != answer.None {
			c.Answer(failed)
			return
		}
	}
	c.Answer(answer.Reply{Kind: answer.Bools, Bools: found})
}
