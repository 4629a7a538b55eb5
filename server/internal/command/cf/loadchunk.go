package cf

import (
	"errors"

	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/bundle"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// loadChunk is CF.LOADCHUNK key iter data.
var loadChunk = engine.Command{
	Name: "cf.loadchunk", Arity: 4, Flags: traits.Write | traits.DenyOOM | traits.Module, Keys: traits.OneKey(traits.KeyRW),
	Categories: []string{"write", "cuckoo", "delete"}, Group: traits.GroupCuckoo, Since: "1.0.0",
	Syntax: "key iterator data", Complexity: "O(n), n being the number of bytes",
	Summary: "Stores one piece that CF.SCANDUMP returned.",
	Cost:    bundle.CostOfChunk(catalog.Cuckoo),
	Prepare: prepareLoadChunk, Reply: replyLoadChunk,
	Lands: engine.Landing(1), Cut: engine.CutChunk,
}

func prepareLoadChunk(x *engine.Context, c *engine.Call) *engine.Op {
	position, ok := answer.ParseInt(c.Args[2])
	if !ok || position == 0 {
		c.Fail(textPosition)
		return nil
	}
	entry := x.Names().Lookup(c.Args[1])
	switch {
	case entry == nil && position != 1:
		c.Fail(answer.TextNotFound)
	case entry == nil:
		return prepareHeader(x, c)
	case entry.Kind != catalog.Cuckoo || position == 1:
		c.Answer(bundle.Taken(entry, catalog.Cuckoo))
	default:
		return x.Contents().Chunk(c, entry, position)
	}
	return nil
}

// prepareHeader makes a filter from the header of a dump.
func prepareHeader(x *engine.Context, c *engine.Call) *engine.Op {
	op, ok := x.Contents().Creation(store.FromDump(catalog.Cuckoo, c.Args[1], c.Args[3]))
	if ok {
		return op
	}
	_, err := redisbloom.ParseCuckooHeader(c.Args[3])
	if errors.Is(err, redisbloom.ErrHeaderLength) {
		c.Fail(textHeader)
	} else {
		c.Fail(textCreate)
	}
	return nil
}

// replyLoadChunk leaves a call without an answer whose key has come or gone
// meanwhile.
func replyLoadChunk(c *engine.Call, res *store.Result) {
	switch {
	case c.MoreChunks(res), errors.Is(res.Err, contents.ErrRetry), errors.Is(res.Err, store.ErrExists):
	case res.Err == nil:
		c.Answer(answer.OK())
	case string(c.Args[2]) == "1":
		c.Fail(textCreate)
	default:
		c.Fail(textChunk)
	}
}
