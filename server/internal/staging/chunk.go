package staging

// LOADCHUNK: a dump that comes in pieces.

import (
	"errors"

	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/store"
)

// Chunk is how far a LOADCHUNK of many bytes has come. Others have their turn between two
// pieces of it.
type Chunk struct{ done, next int }

// Cut returns what cuts n bytes of a dump that end at a position into pieces, nil if they
// are stored at once: they are few, or do not fit, and then all of them are refused.
func Cut(p *contents.Part, position int64, n int) *Chunk {
	if n <= pieceBytes || !holds(p, position, n) {
		return nil
	}
	return &Chunk{}
}

// Next returns the next piece of data, which ends at a position, and where that ends.
func (c *Chunk) Next(position int64, data []byte) (end int64, piece []byte) {
	c.next = min(c.done+pieceBytes, len(data))
	return position - int64(len(data)-c.next), data[c.done:c.next]
}

// More reports whether pieces of n bytes are left when the last one was stored: the call is
// prepared again then.
func (c *Chunk) More(res *store.Result, n int) bool {
	if errors.Is(res.Err, contents.ErrRetry) {
		c.done = 0 // from the beginning, if there is a filter
		return true
	}
	if res.Err != nil {
		return false
	}
	c.done = c.next
	return c.done < n
}

// holds reports whether n bytes that end at a position are in one layer.
func holds(p *contents.Part, position int64, n int) bool {
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
