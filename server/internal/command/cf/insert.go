package cf

// CF.INSERT and CF.INSERTNX.

import (
	"errors"

	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/bundle"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// insert is CF.INSERT key [CAPACITY n] [NOCREATE] ITEMS item [item ...].
var insert = engine.Command{
	Name: "cf.insert", Arity: -4, Flags: traits.Write | traits.DenyOOM | traits.Module, Keys: traits.OneKey(traits.KeyRW),
	Categories: []string{"write", "cuckoo"}, Group: traits.GroupCuckoo, Since: "1.0.0",
	Syntax: "key [CAPACITY capacity] [NOCREATE] ITEMS item [item ...]", Complexity: "O(m · (n + i)), m items, n sub-filters, i iterations",
	Summary: "Adds items to a cuckoo filter, which is created with this capacity if it is not there.",
	On:      &bundle.OnFilter{Family: family, Parse: parseInsert, Absent: unlessNoCreate, Write: several(false, answer.Codes)},
}

// insertNX is CF.INSERTNX key [CAPACITY n] [NOCREATE] ITEMS item [item ...].
var insertNX = engine.Command{
	Name: "cf.insertnx", Arity: -4, Flags: traits.Write | traits.DenyOOM | traits.Module, Keys: traits.OneKey(traits.KeyRW),
	Categories: []string{"write", "cuckoo"}, Group: traits.GroupCuckoo, Since: "1.0.0",
	Syntax: "key [CAPACITY capacity] [NOCREATE] ITEMS item [item ...]", Complexity: "O(m · (n + i)), m items, n sub-filters, i iterations",
	Summary: "Adds items to a cuckoo filter unless they seem to be there.",
	On:      &bundle.OnFilter{Family: family, Parse: parseInsert, Absent: unlessNoCreate, Write: several(true, answer.CodeInts)},
}

// several is what commands do that insert items.
func several(news bool, kind answer.ReplyKind) *bundle.Writing {
	body := func(m *store.Scratch, t bundle.Terms) store.Items {
		m.CuckooInsert = store.CuckooInsert{New: news, MaxFilters: t.MaxFilters}
		if t.Resumes {
			m.CuckooInsert.Way = store.First
		}
		return &m.CuckooInsert
	}
	reply := func(c *engine.Call, res *store.Result) { replyInsert(c, res, kind) }
	return &bundle.Writing{Body: body, Seeks: news, Codes: true, Grows: true, Reply: reply, Create: create}
}

// options is what CF.INSERT was given.
type options struct {
	capacity uint64 // 0 if none
	noCreate bool
}

// parseInsert reads the options from left to right; the first letter of a word
// counts.
func parseInsert(x *engine.Context, c *engine.Call) {
	o := &options{}
	c.Option = o
	for i := 2; i < len(c.Args); i++ {
		switch answer.Letter(c.Args[i], 0) {
		case 'i':
			if c.Items = c.Args[i+1:]; len(c.Items) == 0 {
				c.Answer(answer.WrongArity(c.Command().Name))
			}
			return
		case 'n':
			o.noCreate = true
		case 'c':
			if i++; i == len(c.Args) {
				break
			}
			n, ok := answer.ParseInt(c.Args[i])
			if !ok {
				c.Fail(answer.TextCapacity)
				return
			}
			if n < 2*x.Settings().Defaults().CuckooBucket || n > redisbloom.MaxCapacity {
				c.Fail(textInsertRange)
				return
			}
			o.capacity = uint64(n)
		default:
			c.Fail(answer.TextUnknownArgument)
			return
		}
	}
	c.Answer(answer.WrongArity(c.Command().Name))
}

// unlessNoCreate answers a call that must not create its key.
func unlessNoCreate(c *engine.Call) {
	if c.Option.(*options).noCreate {
		bundle.NotFound(c)
	}
}

// replyInsert answers what became of every item. One that found no room is -1,
// whatever the reason, and so is one that was not tried; if none was, the door has
// refused the record, and there is nothing to say of items.
func replyInsert(c *engine.Call, res *store.Result, kind answer.ReplyKind) {
	switch {
	case errors.Is(res.Err, store.ErrExpansions):
		c.Fail(textMost)
		return
	case res.Err != nil && res.Done == 0:
		c.Fail(answer.TextOOM)
		return
	}
	for i := res.Done; i < len(res.Codes); i++ {
		res.Codes[i] = redisbloom.Refused
	}
	c.Reply.Kind, c.Reply.Codes = kind, res.Codes
}
