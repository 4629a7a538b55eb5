package engine

// What commands say of their costs in a transaction.

import (
	"github.com/bloomery/bloomery/server/internal/cost"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// Costs is what the commands of a transaction cost. A Cost looks at arguments alone, and at
// what Before has made; names are looked up at the end.
type Costs struct {
	*cost.Sum
	ctx *Context
}

// newCosts returns the costs of a transaction of which no command is counted.
func (e *Engine) newCosts(s *Session) *Costs {
	return &Costs{cost.New(cost.Source{
		State: e.state, Settings: e.Settings, Users: e.Users, Client: &s.Client, Watched: s.watchedParts,
		Clients: func() int { return len(e.host.Sessions()) }, Now: func() int64 { return s.ms },
	}), &s.ctx}
}

// Context returns what a handler sees.
func (x *Costs) Context() *Context { return x.ctx }

// call adds what a call of a command costs.
func (x *Costs) call(cmd *Command, c *Call) {
	x.Words(c.Args)
	before := c.cmd
	c.cmd = cmd
	switch {
	case cmd.Cost != nil:
		cmd.Cost(x, c)
	case cmd.On != nil:
		cmd.On.Cost(x, c)
	case !cmd.gated && cmd.Flags&traits.Fast == 0:
		x.Slow()
	}
	c.cmd = before
}

// ByWords is the cost of a command that touches little besides its arguments, which are
// counted for every command.
func ByWords(*Costs, *Call) {}

// BySlow is the cost of a command that is about the server, or computes something, and
// takes long.
func BySlow(x *Costs, _ *Call) { x.Slow() }

// ByKeys returns the cost of a command that does something to each of its keys.
func ByKeys(do func(*Costs, []byte)) func(*Costs, *Call) {
	return func(x *Costs, c *Call) {
		c.cmd.Keys.Each(c.Args, func(i int, _ traits.Key) { do(x, c.Args[i]) })
	}
}

// ByBytes returns the cost of a command that passes over all that its keys stand for, so
// often, and may give one of them what the others have.
func ByBytes(often int) func(*Costs, *Call) {
	return func(x *Costs, c *Call) {
		first := 0
		c.cmd.Keys.Each(c.Args, func(i int, _ traits.Key) {
			if first == 0 {
				first = i
			}
			x.Same(c.Args[first], c.Args[i])
			x.Whole(c.Args[i], often)
		})
	}
}

// ByItems returns the cost of a command whose arguments behind the key are items.
func ByItems(x *Costs, c *Call) {
	x.Hashed(c.Args[2:])
	x.Items(c.Args[1], len(c.Args)-2)
	x.Seek(c.Args[1], len(c.Args)-2)
}
