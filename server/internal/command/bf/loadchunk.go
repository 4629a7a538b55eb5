package bf

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

// loadChunk is BF.LOADCHUNK key iter data.
var loadChunk = engine.Command{
	Name: "bf.loadchunk", Arity: 4, Flags: traits.Write | traits.DenyOOM | traits.Module, Keys: traits.OneKey(traits.KeyRW),
	Categories: []string{"write", "bloom", "delete"}, Group: traits.GroupBloom, Since: "1.0.0",
	Syntax: "key iterator data", Complexity: "O(n), n being the number of bytes",
	Summary: "Stores one piece that BF.SCANDUMP returned.",
	Cost:    bundle.CostOfChunk(catalog.Bloom),
	Prepare: prepareLoadChunk, Reply: replyLoadChunk,
	Lands: engine.Landing(1), Cut: engine.CutChunk,
}

func prepareLoadChunk(x *engine.Context, c *engine.Call) *engine.Op {
	position, ok := answer.ParseInt(c.Args[2])
	if !ok {
		c.Fail(textLoadNumber)
		return nil
	}
	entry := x.Names().Lookup(c.Args[1])
	switch {
	case entry == nil && position != 1:
		c.Fail(answer.TextNotFound)
	case entry == nil:
		op, ok := x.Contents().Creation(store.FromDump(catalog.Bloom, c.Args[1], c.Args[3]))
		if !ok {
			c.Fail(textBadData)
		}
		return op
	case entry.Kind != catalog.Bloom:
		c.Fail(answer.TextWrongType)
	default:
		return x.Contents().Chunk(c, entry, position)
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
	case errors.Is(res.Err, redisbloom.ErrChunkOffset):
		c.Fail(textBadOffset)
	case errors.Is(res.Err, redisbloom.ErrChunkLength):
		c.Fail(textBadChunk)
	default:
		c.Fail(textBadData)
	}
}
