package filter

// FILTER.ADD, HAS, DEL, COUNT and GET, by item and by hash.

import (
	"slices"
	"strconv"
	"strings"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/bundle"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/filters"
	"github.com/bloomery/bloomery/server/internal/scratch"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// add is FILTER.ADD key item [item ...].
var add = engine.Command{
	Name: "filter.add", Arity: -3, Flags: traits.Write | traits.DenyOOM | traits.Fast, Keys: traits.OneKey(traits.KeyRW),
	Categories: []string{"write", "filter", "fast"}, Group: traits.GroupFilter, Since: "0.1.0",
	Syntax: "key item [item ...]", Complexity: "O(n), n being the number of items",
	Summary: "Adds items to a filter, and returns for each whether it was new. Kinds that count add an item that is there once more.",
	Also:    alsoAdd,
	Split:   splitItems,
	On:      &bundle.OnFilter{Family: family, Write: adding, Absent: bundle.NotFound},
}

// has is FILTER.HAS key item [item ...].
var has = engine.Command{
	Name: "filter.has", Arity: -3, Flags: traits.ReadOnly | traits.Fast, Keys: traits.OneKey(traits.KeyRO),
	Categories: []string{"read", "filter", "fast"}, Group: traits.GroupFilter, Since: "0.1.0",
	Syntax: "key item [item ...]", Complexity: "O(n), n being the number of items",
	Summary: "Returns for each item whether it may be in the filter. 0 is certain.",
	Split:   splitItems,
	ByHash:  true,
	Many:    "filter.has",
	On:      &bundle.OnFilter{Family: family, Layers: layersFamily, Contains: true, Absent: bundle.NotFound},
}

// del is FILTER.DEL key item [item ...].
var del = engine.Command{
	Name: "filter.del", Arity: -3, Flags: traits.Write | traits.Fast, Keys: traits.OneKey(traits.KeyRW),
	Categories: []string{"write", "filter", "fast", "delete"}, Group: traits.GroupFilter, Since: "0.1.0",
	Syntax: "key item [item ...]", Complexity: "O(n), n being the number of items",
	Summary: "Deletes one occurrence of each item, and returns for each whether it was there. Delete only items that were added: otherwise others may be lost.",
	Split:   splitItems,
	On:      &bundle.OnFilter{Family: family, Write: deleting, Absent: bundle.NotFound},
}

// gone is FILTER.GONE key item [item ...].
var gone = engine.Command{
	Name: "filter.gone", Arity: -3, Flags: traits.Write | traits.Fast, Keys: traits.OneKey(traits.KeyRW),
	Categories: []string{"write", "filter", "fast"}, Group: traits.GroupFilter, Since: "0.1.0",
	Syntax: "key item [item ...]", Complexity: "O(n), n being the number of items",
	Summary: "Counts items that were deleted elsewhere, for kinds that cannot delete: FILTER.INFO shows how many are gone, and at 30% or more the verdict is Rebuild. Report each once. Returns 1 for each item that the filter contains, else 0. FILTER.CLEAR, FILTER.LOAD and a rebuild set the count to 0; FILTER.LOAD FROM does so for the items of its source.",
	Split:   splitItems,
	On:      &bundle.OnFilter{Family: family, Write: reporting, Absent: bundle.NotFound},
}

// addHash is FILTER.ADDHASH key hash [hash ...].
var addHash = engine.Command{
	Name: "filter.addhash", Arity: -3, Flags: traits.Write | traits.DenyOOM | traits.Fast, Keys: traits.OneKey(traits.KeyRW),
	Categories: []string{"write", "filter", "fast"}, Group: traits.GroupFilter, Since: "0.1.0",
	Syntax: "key hash [hash ...]", Complexity: "O(n), n being the number of hashes",
	Summary: "FILTER.ADD for items that the client has hashed as the filter does, to 64 bits. Refused on filters with a secret key.",
	Also:    alsoAdd,
	Split:   splitHashes,
	On:      &bundle.OnFilter{Family: family, Parse: parseHashes, Hash: readHashes, Write: adding, Absent: bundle.NotFound},
}

// hasHash is FILTER.HASHASH key hash [hash ...].
var hasHash = engine.Command{
	Name: "filter.hashash", Arity: -3, Flags: traits.ReadOnly | traits.Fast, Keys: traits.OneKey(traits.KeyRO),
	Categories: []string{"read", "filter", "fast"}, Group: traits.GroupFilter, Since: "0.1.0",
	Syntax: "key hash [hash ...]", Complexity: "O(n), n being the number of hashes",
	Summary: "FILTER.HAS for items that the client has hashed as the filter does, to 64 bits. Refused on filters with a secret key.",
	Split:   splitHashes,
	ByHash:  true,
	On:      &bundle.OnFilter{Family: family, Parse: parseHashes, Hash: readHashes, Contains: true, Absent: bundle.NotFound},
}

// adding, deleting and reporting are what the writes of items do.
var (
	adding   = &bundle.Writing{Body: addition, Merge: true, Grows: true, Reply: replyItems, Failure: filters.Failure}
	deleting = &bundle.Writing{Body: deletion, Deletes: true, Merge: true, Reply: replyItems, Failure: filters.Failure}

	reporting = &bundle.Writing{Body: report, Reports: true, Merge: true, Reply: replyItems, Failure: filters.Failure}
)

// replyItems answers a boolean for each item, or an error if it failed. The array
// always has as many elements as there are items.
func replyItems(c *engine.Call, res *store.Result) {
	if res.Err == nil {
		c.AnswerBools(res.Bools[:res.Done])
		return
	}
	elems, failed := make([]answer.Reply, len(c.Items)), answer.Fail(filters.Failure(res.Err))
	for i := range elems {
		if elems[i] = failed; !res.Fails(i) {
			elems[i] = answer.Truth(res.Bools[i])
		}
	}
	c.Answer(answer.List(elems...))
}

// parseHashes checks the arguments of a command on hashes.
func parseHashes(_ *engine.Context, c *engine.Call) {
	for _, arg := range c.Args[2:] {
		if _, ok := parseHash(arg); !ok {
			c.Fail("ERR a hash is a number from 0 to 18446744073709551615, or 0x and up to 16 hexadecimal digits")
			return
		}
	}
	c.Items = c.Args[2:]
}

// parseHash reads an unsigned number, decimal or hexadecimal.
func parseHash(arg []byte) (uint64, bool) {
	text, base := string(arg), 10
	if rest, ok := strings.CutPrefix(strings.ToLower(text), "0x"); ok {
		text, base = rest, 16
	}
	if len(text) > 20 || strings.HasPrefix(text, "+") {
		return 0, false
	}
	v, err := strconv.ParseUint(text, base, 64)
	return v, err == nil
}

// splitItems and splitHashes are for Split of commands.
func splitItems(p *contents.Part, items [][]byte, hashes []uint64) bool {
	h, usable := p.Hasher()
	if usable {
		h.HashKeys(hashes, items)
	}
	return usable
}

func splitHashes(_ *contents.Part, items [][]byte, hashes []uint64) (ok bool) {
	for i, item := range items {
		if hashes[i], ok = parseHash(item); !ok {
			return false
		}
	}
	return true
}

// readHashes reads the hashes that parseHashes has checked.
func readHashes(w *scratch.Memory, _ *contents.Part, items [][]byte) (first int) {
	first = len(w.Hashes)
	for _, item := range items {
		h, _ := parseHash(item)
		w.Hashes = append(w.Hashes, h)
	}
	return first
}

// count is FILTER.COUNT key item [item ...].
var count = engine.Command{
	Name: "filter.count", Arity: -3, Flags: traits.ReadOnly | traits.Fast | traits.Outside, Keys: traits.OneKey(traits.KeyRO),
	Categories: []string{"read", "filter", "fast"}, Group: traits.GroupFilter, Since: "0.1.0",
	Syntax: "key item [item ...]", Complexity: "O(n), n being the number of items",
	Summary: "Returns for each item how often it was added. The count may be too high, never too low.",
	Cost:    engine.ByItems,
	Split:   splitItems,
	Run: func(x *engine.Context, c *engine.Call) {
		runLook(x, c, func(f codec.Features) bool { return f.Count }, func(f bloomery.Hashed, h uint64) answer.Reply {
			return answer.Integer(int64(f.(bloomery.Counter).CountHash(h)))
		})
	},
}

// get is FILTER.GET key item [item ...].
var get = engine.Command{
	Name: "filter.get", Arity: -3, Flags: traits.ReadOnly | traits.Fast | traits.Outside, Keys: traits.OneKey(traits.KeyRO),
	Categories: []string{"read", "filter", "fast"}, Group: traits.GroupFilter, Since: "0.1.0",
	Syntax: "key item [item ...]", Complexity: "O(n), n being the number of items",
	Summary: "Returns for each item its value in a map, or nil if it is certainly absent. An absent item gets some value with the false positive rate of the map.",
	Cost:    engine.ByItems,
	Split:   splitItems,
	Run: func(x *engine.Context, c *engine.Call) {
		runLook(x, c, func(f codec.Features) bool { return f.Get }, func(f bloomery.Hashed, h uint64) answer.Reply {
			v, ok := f.(bloomery.Getter).GetHash(h)
			if !ok {
				return answer.Nil()
			}
			return answer.Integer(int64(v))
		})
	},
}

// runLook answers for each item what ask finds, on kinds that are able to. It hashes
// outside the gate, since an item may be very long, and looks in pieces inside it.
func runLook(x *engine.Context, c *engine.Call, able func(codec.Features) bool, ask func(bloomery.Hashed, uint64) answer.Reply) {
	entry := filters.Look(x, c)
	if entry == nil {
		return
	}
	p := contents.PartOf(entry)
	hasher, usable := p.Hasher()
	switch row := p.Row(); {
	case !usable:
		c.Fail(filters.MissingKey(p.Plan()))
		return
	case !able(row.Features):
		c.Fail(unable(c, row, able))
		return
	}
	if !x.Hold(16 * len(c.Args)) {
		c.Fail(answer.TextOOM)
		return
	}
	found, ok := make([]answer.Reply, 0, len(c.Args)-2), true
	var hashes [256]uint64
	for items := range slices.Chunk(c.Args[2:], len(hashes)) {
		if x.GaveUp(c) {
			return
		}
		hasher.HashKeys(hashes[:], items)
		x.Look(func() {
			for _, h := range hashes[:len(items)] {
				var r answer.Reply
				r, ok = lookOne(contents.PartAt(entry, uint32(bloomery.Route(h, uint(p.Plan().Parts)))), h, ask)
				if !ok {
					return
				}
				found = append(found, r)
			}
		})
		if !ok {
			c.Fail(answer.TextNotFound) // it went while it was asked
			return
		}
	}
	c.Answer(answer.List(found...))
}

func lookOne(p *contents.Part, h uint64, ask func(bloomery.Hashed, uint64) answer.Reply) (answer.Reply, bool) {
	p.RLock()
	defer p.RUnlock()
	if p.Gone() || p.Elsewhere() {
		return answer.Reply{}, false
	}
	return ask(p.Filter(), h), true
}

func addition(m *store.Scratch, _ bundle.Terms) store.Items {
	m.FilterAdd = store.FilterAdd{}
	return &m.FilterAdd
}

func report(m *store.Scratch, _ bundle.Terms) store.Items {
	m.FilterGone = store.FilterGone{}
	return &m.FilterGone
}

func deletion(m *store.Scratch, _ bundle.Terms) store.Items {
	m.FilterDelete = store.FilterDelete{}
	return &m.FilterDelete
}
