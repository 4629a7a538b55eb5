package tdigest

// TDIGEST.MIN, MAX and INFO.

import (
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/bundle"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// smallest is TDIGEST.MIN key.
var smallest = end("tdigest.min", "Returns the smallest value.", (*redisbloom.TDigest).Min)

// largest is TDIGEST.MAX key.
var largest = end("tdigest.max", "Returns the largest value.", (*redisbloom.TDigest).Max)

// end returns a command for one end of the values.
func end(name, summary string, value func(*redisbloom.TDigest) float64) engine.Command {
	return engine.Command{
		Name: name, Arity: 2, Flags: traits.ReadOnly | traits.Module, Keys: traits.OneKey(traits.KeyRO),
		Categories: []string{"read", "fast", "tdigest"}, Group: traits.GroupTDigest, Since: "2.4.0",
		Syntax: "key", Complexity: "O(1)", Summary: summary,
		Cost: engine.ByWords,
		On: &bundle.OnSketch{
			Family: family, Missing: textMissing, Stride: 1,
			Look: func(_ *engine.Context, p *contents.Part, c *engine.Call) { c.Answer(answer.Float(value(p.TDigest()))) },
		},
	}
}

// info is TDIGEST.INFO key.
var info = engine.Command{
	Name: "tdigest.info", Arity: 2, Flags: traits.ReadOnly | traits.Module, Keys: traits.OneKey(traits.KeyRO),
	Categories: []string{"read", "fast", "tdigest"}, Tips: []string{"dont_cache"}, Group: traits.GroupTDigest, Since: "2.4.0",
	Syntax: "key", Complexity: "O(1)",
	Summary: "Describes a t-digest.",
	Cost:    engine.ByWords,
	On:      &bundle.OnSketch{Family: family, Missing: textMissing, Stride: 1, Look: lookInfo},
}

func lookInfo(_ *engine.Context, p *contents.Part, c *engine.Call) {
	t := p.TDigest()
	s := t.Stats()
	fields := [...]struct {
		name  string
		value int64
	}{
		{"Compression", s.Compression},
		{"Capacity", int64(s.Capacity)},
		{"Merged nodes", int64(s.MergedNodes)},
		{"Unmerged nodes", int64(s.UnmergedNodes)},
		{"Merged weight", s.MergedWeight},
		{"Unmerged weight", s.UnmergedWeight},
		{"Observations", t.Observations()},
		{"Total compressions", s.Compressions},
		{"Memory usage", int64(t.Size())},
	}
	pairs := make([]answer.Reply, 0, 2*len(fields)) // a transaction may ask for it 80,000 times
	for _, f := range fields {
		pairs = append(pairs, answer.Word(f.name), answer.Integer(f.value))
	}
	c.Answer(answer.Pairs(pairs...))
}
