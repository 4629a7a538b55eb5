package command

import (
	"errors"

	"github.com/bloomery/bloomery/foreign/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/store"
)

// bfLoadChunk is BF.LOADCHUNK key iter data.
var bfLoadChunk = Command{
	Name: "bf.loadchunk", Arity: 4, Flags: Write | DenyOOM | Module, Keys: oneKey, KeyFlags: keyRW,
	Categories: []string{"write", "bloom"}, Group: groupBloom, Since: "1.0.0",
	Syntax: "key iterator data", Complexity: "O(n), n being the number of bytes",
	Summary: "Stores one piece that BF.SCANDUMP returned.",
	run:     runBFLoadChunk,
}

func runBFLoadChunk(e *Engine, s *Session, c *Call) {
	position, ok := parseInt(c.Args[2])
	if !ok {
		c.answer(fail(textLoadNumber))
		return
	}
	for {
		entry := e.state.Names.Lookup(c.Args[1], s.ms)
		switch {
		case entry == nil && position != 1:
			c.answer(fail(textNotFound))
			return
		case entry == nil:
			if r, ok := e.loadHeader(s, c, store.OpBloomDump); ok {
				c.answer(r)
				return
			}
			continue
		case entry.Kind != catalog.Bloom:
			c.answer(fail(textWrongType))
			return
		}
		if err := e.loadChunk(entry, c, store.OpBloomChunk, position); !errors.Is(err, store.ErrRetry) {
			c.answer(bloomChunkReply(err))
			return
		}
	}
}

// loadHeader makes a filter from the header of a dump. It reports false if the
// key has come into being meanwhile.
func (e *Engine) loadHeader(s *Session, c *Call, op store.Op) (Reply, bool) {
	r := store.Record{Op: op, Name: c.Args[1], At: s.ms, Value: c.Args[3]}
	res, ok := e.createFilter(&r)
	switch {
	case !ok:
		return fail(textOOM), true
	case errors.Is(res.Err, store.ErrExists):
		return Reply{}, false
	case res.Err == nil:
		return okReply, true
	case op == store.OpBloomDump:
		return fail(textBadData), true
	case errors.Is(res.Err, redisbloom.ErrHeaderLength):
		return fail(textHeader), true
	default:
		return fail(textCuckooCreate), true
	}
}

// loadChunk stores a chunk in a filter.
func (e *Engine) loadChunk(entry *catalog.Entry, c *Call, op store.Op, position int64) error {
	o := door.Op{
		Record: store.Record{Op: op, ID: entry.ID, Position: position, Value: c.Args[3]},
		Part:   store.PartOf(entry),
	}
	e.do(&o)
	return o.Result.Err
}

func bloomChunkReply(err error) Reply {
	switch {
	case err == nil:
		return okReply
	case errors.Is(err, redisbloom.ErrChunkOffset):
		return fail(textBadOffset)
	case errors.Is(err, redisbloom.ErrChunkLength):
		return fail(textBadChunk)
	default:
		return fail(textBadData)
	}
}
