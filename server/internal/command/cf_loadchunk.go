package command

import (
	"errors"

	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/store"
)

// cfLoadChunk is CF.LOADCHUNK key iter data.
var cfLoadChunk = Command{
	Name: "cf.loadchunk", Arity: 4, Flags: Write | DenyOOM | Module, Keys: oneKey, KeyFlags: keyRW,
	Categories: []string{"write", "cuckoo"}, Group: groupCuckoo, Since: "1.0.0",
	Syntax: "key iterator data", Complexity: "O(n), n being the number of bytes",
	Summary: "Stores one piece that CF.SCANDUMP returned.",
	run:     runCFLoadChunk,
}

func runCFLoadChunk(e *Engine, s *Session, c *Call) {
	position, ok := parseInt(c.Args[2])
	if !ok || position == 0 {
		c.answer(fail(textPosition))
		return
	}
	for {
		entry := e.state.Names.Lookup(c.Args[1], s.ms)
		switch {
		case entry == nil && position != 1:
			c.answer(fail(textNotFound))
			return
		case entry == nil:
			if r, ok := e.loadHeader(s, c, store.OpCuckooDump); ok {
				c.answer(r)
				return
			}
			continue
		case entry.Kind != catalog.Cuckoo || position == 1:
			c.answer(taken(entry, catalog.Cuckoo))
			return
		}
		err := e.loadChunk(entry, c, store.OpCuckooChunk, position)
		switch {
		case errors.Is(err, store.ErrRetry):
			continue
		case err != nil:
			c.answer(fail(textCuckooChunk))
		default:
			c.answer(okReply)
		}
		return
	}
}
