// Package maker is what commands have in common that make a key: BF.RESERVE and its kin.
package maker

import (
	"errors"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/store"
)

// Key is what commands do that make a key, their first argument.
type Key struct {
	Kind catalog.Kind
	// Fits reports whether there can be so many words; nil means that the table has
	// counted them.
	Fits func(words int) bool
	// Body returns the record that makes the key, or the error text.
	Body func(x *engine.Context, c *engine.Call) (store.Body, string)
	// Late means that the key is looked for behind the other arguments, not before them.
	Late bool
	// Exists is what is answered if there is such a key, Foreign if there is one of
	// another kind, and NoMemory if there is no room for it.
	Exists, Foreign, NoMemory string
}

// Command returns c as the command that makes the key.
func (k Key) Command(c engine.Command) engine.Command {
	c.Cost, c.Prepare, c.Reply = k.cost, k.prepare, k.reply
	return c
}

func (k Key) fits(c *engine.Call) bool { return k.Fits == nil || k.Fits(len(c.Args)) }

// taken answers if there is such a key.
func (k Key) taken(x *engine.Context, c *engine.Call) bool {
	entry := x.Names().Lookup(c.Args[1])
	switch {
	case entry == nil:
	case entry.Kind != k.Kind:
		c.Fail(k.Foreign)
	default:
		c.Fail(k.Exists)
	}
	return entry != nil
}

func (k Key) prepare(x *engine.Context, c *engine.Call) *engine.Op {
	if !k.fits(c) {
		c.Answer(answer.WrongArity(c.Command().Name))
		return nil
	}
	if !k.Late && k.taken(x, c) {
		return nil
	}
	body, text := k.Body(x, c)
	if text != "" {
		c.Fail(text)
		return nil
	}
	if k.Late && k.taken(x, c) {
		return nil
	}
	op, ok := x.Contents().Creation(body)
	if !ok {
		c.Fail(k.NoMemory)
		return nil
	}
	op.NoMemory = k.NoMemory
	return op
}

func (k Key) reply(c *engine.Call, res *store.Result) {
	switch {
	case res.Err == nil:
		c.Answer(answer.OK())
	case errors.Is(res.Err, store.ErrExists):
		c.Fail(k.Exists)
	default:
		c.Fail(k.NoMemory)
	}
}

func (k Key) cost(x *engine.Costs, c *engine.Call) {
	if !k.fits(c) {
		return
	}
	if body, text := k.Body(x.Context(), c); text == "" {
		x.Make(c.Args[1], body)
	}
}
