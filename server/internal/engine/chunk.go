package engine

// LOADCHUNK: a dump that comes in pieces.

import (
	"fmt"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/staging"
	"github.com/bloomery/bloomery/server/internal/store"
)

// Chunk returns the op that stores the chunk of a LOADCHUNK, the argument behind
// its position, in a filter, or the next piece of it. A chunk that does not fit is
// not cut: all of it is refused.
func (x Contents) Chunk(c *Call, entry *catalog.Entry, position int64) *Op {
	p, data := contents.PartOf(entry), c.Args[3]
	l, ok := c.Option.(*staging.Chunk)
	if !ok && !x.Transaction().Grouped() {
		if l = staging.Cut(p, position, len(data)); l != nil {
			c.Option = l
		}
	}
	if l != nil {
		position, data = l.Next(position, data)
	}
	body, _ := store.DumpPiece(entry.Kind, position, data)
	o := x.Record(body)
	o.Part, o.Record.ID = p, entry.ID
	return o
}

// CutChunk is the Cut of LOADCHUNK: positions are those of the ends of pieces.
func CutChunk(args [][]byte) (calls [][][]byte) {
	position, ok := answer.ParseInt(args[2])
	data := args[3]
	if !ok || position < int64(len(data)) {
		return nil
	}
	for at := 0; at < len(data); {
		n := min(len(data)-at, mostSplit)
		at += n
		calls = append(calls, [][]byte{args[0], args[1], fmt.Append(nil, position-int64(len(data)-at)), data[at-n : at]})
	}
	return calls
}

// MoreChunks reports whether a LOADCHUNK has pieces left: it is prepared again
// then.
func (c *Call) MoreChunks(res *store.Result) bool {
	l, ok := c.Option.(*staging.Chunk)
	return ok && l.More(res, len(c.Args[3]))
}
