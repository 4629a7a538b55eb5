package engine

// Commands that make a key: BF.RESERVE and its kin.

import (
	"errors"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/store"
)

// Maker is what commands do that make a key, their first argument.
type Maker struct {
	Kind catalog.Kind
	// Fits reports whether there can be so many words; nil means that the table has
	// counted them.
	Fits func(words int) bool
	// Body returns the record that makes the key, or the error text.
	Body func(x *Context, c *Call) (store.Body, string)
	// Late means that the key is looked for behind the other arguments, not before them.
	Late bool
	// Exists is what is answered if there is such a key, Foreign if there is one of
	// another kind, and NoMemory if there is no room for it.
	Exists, Foreign, NoMemory string
}

// Command returns c as the command that makes the key.
func (m Maker) Command(c Command) Command {
	c.Cost, c.Prepare, c.Reply = m.cost, m.prepare, m.reply
	return c
}

func (m Maker) fits(c *Call) bool { return m.Fits == nil || m.Fits(len(c.Args)) }

// taken answers if there is such a key.
func (m Maker) taken(x *Context, c *Call) bool {
	entry := x.Names().Lookup(c.Args[1])
	switch {
	case entry == nil:
	case entry.Kind != m.Kind:
		c.Fail(m.Foreign)
	default:
		c.Fail(m.Exists)
	}
	return entry != nil
}

func (m Maker) prepare(x *Context, c *Call) *Op {
	if !m.fits(c) {
		c.Answer(answer.WrongArity(c.Command().Name))
		return nil
	}
	if !m.Late && m.taken(x, c) {
		return nil
	}
	body, text := m.Body(x, c)
	if text != "" {
		c.Fail(text)
		return nil
	}
	if m.Late && m.taken(x, c) {
		return nil
	}
	op, ok := x.Contents().Creation(body)
	if !ok {
		c.Fail(m.NoMemory)
		return nil
	}
	op.NoMemory = m.NoMemory
	return op
}

func (m Maker) reply(c *Call, res *store.Result) {
	switch {
	case res.Err == nil:
		c.Answer(answer.OK())
	case errors.Is(res.Err, store.ErrExists):
		c.Fail(m.Exists)
	default:
		c.Fail(m.NoMemory)
	}
}

func (m Maker) cost(x *Costs, c *Call) {
	if !m.fits(c) {
		return
	}
	if body, text := m.Body(x.Context(), c); text == "" {
		x.Make(c.Args[1], body)
	}
}
