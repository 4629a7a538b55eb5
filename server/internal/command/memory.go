package command

import (
	"github.com/bloomery/bloomery/server/internal/store"
)

// runMemoryUsage answers what a key takes in this server, its name and its place
// in the catalogue included.
func runMemoryUsage(e *Engine, s *Session, c *Call) {
	for i := 3; i < len(c.Args); i += 2 {
		if !is(c.Args[i], "samples") || i+1 == len(c.Args) {
			c.answer(fail(textSyntax))
			return
		}
		if n, ok := parseInt(c.Args[i+1]); !ok || n < 0 {
			c.answer(fail(textInteger))
			return
		}
	}
	entry := e.state.Names.Lookup(c.Args[2], s.ms)
	if entry == nil {
		c.answer(null())
		return
	}
	c.answer(integer(store.Cost(string(c.Args[2]), entry)))
}
