package bundle

// What calls on items cost in a transaction.

import (
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/health"
	"github.com/bloomery/bloomery/server/internal/store"
)

// tableBytes is what a reply that describes a filter counts for: a table of up to 16 values.
const tableBytes = 4 << 10

// Cost implements engine.Bundled. Options among the arguments count as items.
func (f *OnFilter) Cost(x *engine.Costs, c *engine.Call) {
	key, n := c.Args[1], max(len(c.Args)-2, 0)
	x.Hashed(c.Args[2:])
	x.Items(key, n)
	if f.Write == nil || f.Write.Reports || f.Write.Seeks || f.Write.Deletes {
		x.Seek(key, n)
	}
	switch {
	case f.Read != nil:
		x.Visit(key)
		x.Bytes(tableBytes)
	case f.Write == nil, f.Write.Reports:
	case f.work() == health.Delete:
		x.Delete(key, n)
	default:
		hashes := 0
		if f.Hash != nil {
			hashes = n
		}
		x.Insert(key, n, hashes)
		if f.Write.Create != nil && (f.Parse != nil || !x.Makes(key)) {
			f.created(x, c)
		}
	}
}

// created notes what a command makes where there is no such name.
func (f *OnFilter) created(x *engine.Costs, c *engine.Call) {
	probe := c.Probe()
	if f.Parse != nil {
		f.Parse(x.Context(), &probe)
	}
	if !probe.Answered() {
		x.Make(c.Args[1], f.Write.Create(x.Context(), &probe))
	}
}

// Cost implements engine.Bundled.
func (k *OnSketch) Cost(x *engine.Costs, c *engine.Call) {
	key := c.Args[1]
	x.Hashed(c.Args[2:])
	if k.Look != nil {
		x.Look(key)
		return
	}
	n := k.items(len(c.Args) - 2)
	if x.Items(key, n); k.Body != nil {
		x.Count(key, n)
	} else {
		x.Seek(key, n)
	}
	for i := 2; i < len(c.Args); i += max(k.Stride, 1) {
		x.Row(key, uint64(len(c.Args[i])))
	}
	if k.Tries != nil {
		x.Try(key, k.Tries(c.Args[2:]))
	}
}

// CostOfChunk counts a piece of a dump of a kind, and what a header makes.
func CostOfChunk(kind catalog.Kind) func(*engine.Costs, *engine.Call) {
	return func(x *engine.Costs, c *engine.Call) {
		x.Bytes(len(c.Args[3]))
		x.Visit(c.Args[1])
		if position, ok := answer.ParseInt(c.Args[2]); ok && position == 1 {
			x.Make(c.Args[1], store.FromDump(kind, nil, c.Args[3]))
		}
	}
}
