package bf

import (
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/bundle"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// scanDump is BF.SCANDUMP key iter.
var scanDump = engine.Command{
	Name: "bf.scandump", Arity: 3, Flags: traits.ReadOnly | traits.Module | traits.Fast | traits.Heavy, Keys: traits.OneKey(traits.KeyRW),
	Categories: []string{"read", "bloom"}, Tips: []string{"dont_cache"}, Group: traits.GroupBloom, Since: "1.0.0",
	Syntax: "key iterator", Complexity: "O(n), n being the number of bytes returned",
	Summary: "Returns one piece of a Bloom filter, and the iterator of the next.",
	Cost:    engine.ByKeys((*engine.Costs).Look),
	On:      &bundle.OnFilter{Family: family, Parse: bundle.NoItems, Read: readScanDump, Absent: bundle.NotFound},
}

// readScanDump reads the iterator only when the key is known to be there, as
// RedisBloom does.
func readScanDump(x *engine.Context, p *contents.Part, c *engine.Call) {
	iter, ok := answer.ParseInt(c.Args[2])
	if !ok {
		c.Fail(textScanNumber)
		return
	}
	next, data := p.Bloom().ScanDump(iter)
	x.AnswerChunk(c, p, next, data)
}
