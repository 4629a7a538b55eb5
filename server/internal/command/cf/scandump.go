package cf

import (
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/bundle"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// scanDump is CF.SCANDUMP key iter.
var scanDump = engine.Command{
	Name: "cf.scandump", Arity: 3, Flags: traits.ReadOnly | traits.Module | traits.Fast | traits.Heavy, Keys: traits.OneKey(traits.KeyRW),
	Categories: []string{"read", "cuckoo"}, Tips: []string{"dont_cache"}, Group: traits.GroupCuckoo, Since: "1.0.0",
	Syntax: "key iterator", Complexity: "O(n), n being the number of bytes returned",
	Summary: "Returns one piece of a cuckoo filter, and the iterator of the next.",
	Cost:    engine.ByKeys((*engine.Costs).Look),
	On:      &bundle.OnFilter{Family: family, Parse: parseScanDump, Read: readScanDump, Absent: bundle.NotFound},
}

func parseScanDump(_ *engine.Context, c *engine.Call) {
	c.Items = nil
	n, ok := answer.ParseInt(c.Args[2])
	if !ok || n < 0 {
		c.Fail(textPosition)
		return
	}
	c.Option = n
}

func readScanDump(x *engine.Context, p *contents.Part, c *engine.Call) {
	next, data, err := p.Cuckoo().ScanDump(c.Option.(int64))
	switch {
	case err != nil:
		c.Fail(textPosition)
	case next == 0:
		c.Answer(answer.List(answer.Integer(0), answer.Nil()))
	default:
		x.AnswerChunk(c, p, next, data)
	}
}
