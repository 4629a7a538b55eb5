package engine

// LOADCHUNK: a dump that comes in pieces.

import (
	"errors"

	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/store"
)

// chunkPiece is how many bytes of a dump one record stores. Others have their
// turn between two of them.
const chunkPiece = 256 << 10

// chunking is how far a LOADCHUNK of many bytes has come.
type chunking struct{ done, next int }

// Chunk returns the op that stores the chunk of a LOADCHUNK, the argument behind
// its position, in a filter, or the next piece of it. A chunk that does not fit is
// not cut: all of it is refused.
func (x Contents) Chunk(c *Call, entry *catalog.Entry, f *Family, position int64) *Op {
	p, data := store.PartOf(entry), c.Args[3]
	l, ok := c.Option.(*chunking)
	if !ok && len(data) > chunkPiece && !x.Transaction().Grouped() && holds(p, position, len(data)) {
		l = &chunking{}
		c.Option = l
	}
	if l != nil {
		l.next = min(l.done+chunkPiece, len(data))
		position -= int64(len(data) - l.next)
		data = data[l.done:l.next]
	}
	o := x.Record(f.Chunk(position, data))
	o.Part, o.Record.ID = p, entry.ID
	return o
}

// holds reports whether n bytes that end at a position are in one layer.
func holds(p *store.Part, position int64, n int) bool {
	p.RLock()
	defer p.RUnlock()
	if p.Gone() || position <= int64(n) {
		return false
	}
	_, chunk := p.Contents().ScanDump(position - int64(n))
	_, last := p.Contents().ScanDump(position - 1)
	// A dump returns a layer from the iterator on, or the whole of it.
	return len(chunk) >= n && len(last) > 0 && (&last[0] == &chunk[n-1] || &last[0] == &chunk[0])
}

// MoreChunks reports whether a LOADCHUNK has pieces left: it is prepared again
// then.
func (c *Call) MoreChunks(res *store.Result) bool {
	l, ok := c.Option.(*chunking)
	if !ok {
		return false
	}
	if errors.Is(res.Err, store.ErrRetry) {
		l.done = 0 // from the beginning, if there is a filter
		return true
	}
	if res.Err != nil {
		return false
	}
	l.done = l.next
	return l.done < len(c.Args[3])
}
