package filter

// FILTER.CARD and FILTER.INFO.

import (
	"encoding/json"
	"math"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/filters"
	"github.com/bloomery/bloomery/server/internal/health"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// card is FILTER.CARD key.
var card = engine.Command{
	Name: "filter.card", Arity: 2, Flags: traits.ReadOnly | traits.Fast, Keys: traits.OneKey(traits.KeyRO),
	Categories: []string{"read", "filter", "fast"}, Group: traits.GroupFilter, Since: "0.1.0",
	Syntax: "key", Complexity: "O(n), n being the number of parts",
	Summary:  "Returns the number of items in a filter, for many kinds an estimate from its bits.",
	Cost:     engine.ByKeys((*engine.Costs).Look),
	Assemble: engine.Sum,
	Run: func(x *engine.Context, c *engine.Call) {
		if entry := filters.Find(x, c, c.Args[1]); entry != nil && x.Contents().Assembled() {
			c.Answer(answer.Integer(itemsHere(x, entry)))
		} else if entry != nil {
			s, ok := statsOf(x, entry)
			if !ok {
				c.Fail(answer.TextNotFound)
				return
			}
			c.Answer(answer.Integer(int64(min(s.Items, math.MaxInt64))))
		}
	},
}

// itemsHere returns the number of items in the parts that this node answers for.
func itemsHere(x *engine.Context, entry *catalog.Entry) (n int64) {
	for _, p := range contents.Parts(entry) {
		if x.Contents().Mine(entry, p) {
			p.RLock()
			n += int64(p.Contents().Stats().Items)
			p.RUnlock()
		}
	}
	return n
}

// info is FILTER.INFO key [JSON].
var info = engine.Command{
	Name: "filter.info", Arity: -2, Max: 3, Flags: traits.ReadOnly | traits.Outside, Keys: traits.OneKey(traits.KeyRO),
	Categories: []string{"read", "filter", "slow"}, Group: traits.GroupFilter, Since: "0.1.0",
	Syntax: "key [JSON]", Complexity: "O(n), n being the number of parts",
	Summary:  "Describes a filter of any kind, BF, CF and sketches included: size, items, false positive rate asked for, predicted and measured, latency, and verdict.",
	Cost:     costOfInfo,
	Assemble: assembleInfo, Everyone: true,
	Run: runInfo,
}

// field is a line of FILTER.INFO.
type field struct {
	name  string
	value any // string, int64, float64, bool or []sourceInfo
}

func runInfo(x *engine.Context, c *engine.Call) {
	if len(c.Args) == 3 && !answer.Is(c.Args[2], "json") {
		c.Fail(answer.TextSyntax)
		return
	}
	entry, sketch := findSketch(x, c.Args[1])
	if !sketch {
		if entry = findAny(x, c); entry == nil {
			return
		}
	}
	if x.Contents().Assembled() {
		if v, ok := shareOf(x, entry, true); ok {
			c.Answer(v.reply(x, entry, string(c.Args[1])))
		} else {
			c.Fail(answer.TextNotFound)
		}
		return
	}
	fields, ok := describe(x, entry, string(c.Args[1]))
	if !ok {
		c.Fail(answer.TextNotFound)
		return
	}
	c.Answer(infoReply(x, c, entry, append(fields, lies(x, entry)...)))
}

// infoReply returns the reply to FILTER.INFO, as it was asked for.
func infoReply(x *engine.Context, c *engine.Call, entry *catalog.Entry, fields []field) answer.Reply {
	if len(c.Args) < 3 {
		return asMap(fields)
	}
	if contents.IsFilter(entry) {
		fields = append(fields, field{"history", x.Contents().Health().History(entry.ID)})
	}
	return answer.Text(asJSON(fields))
}

// findSketch returns the entry of a name and whether it is a sketch. Sketches have no
// false positive rate: nothing of them is measured.
func findSketch(x *engine.Context, name []byte) (entry *catalog.Entry, ok bool) {
	x.Look(func() { entry = x.Names().Lookup(name) })
	if entry == nil || contents.PartOf(entry) == nil {
		return nil, false
	}
	_, ok = contents.PartOf(entry).Contents().(contents.Detailed)
	return entry, ok
}

// describe returns what is known of a filter or a sketch: all of it of one moment. It
// reports false if it is gone.
func describe(x *engine.Context, entry *catalog.Entry, name string) ([]field, bool) {
	f := x.Contents().Filters().Of(entry)
	if f == nil {
		s, ok := statsOf(x, entry)
		return described(x, entry, s), ok
	}
	r, ok := x.Contents().Health().Report(f)
	if !ok {
		return nil, false
	}
	return append(described(x, entry, r.Stats), measured(x, entry, &r, name)...), true
}

func described(x *engine.Context, entry *catalog.Entry, s bloomery.Stats) []field {
	bytes := uint64(0)
	for _, p := range contents.Parts(entry) {
		p.RLock()
		bytes += p.Bytes()
		p.RUnlock()
	}
	s.Kind, s.Bytes = contents.KindName(entry), bytes
	return describedAs(x, entry, s, innerOf(contents.PartOf(entry)))
}

// describedAs describes a filter or a sketch, by figures that others may have told.
func describedAs(x *engine.Context, entry *catalog.Entry, s bloomery.Stats, inner []field) []field {
	p := contents.PartOf(entry)
	fields := []field{
		{"kind", s.Kind},
		{"capacity", whole(s.Capacity)},
		{"items", whole(s.Items)},
		{"items_exact", s.Exact},
		{"bits", whole(s.Bits)},
		{"bytes", whole(s.Bytes)},
		{"parts", int64(contents.PartCount(entry))},
		{"asked", s.Asked},
		{"predicted", s.Predicted},
		{"predicted_sigma", s.PredictedSigma},
		{"saturation", s.Saturation},
		{"skew", s.Skew},
	}
	if s.Overflow > 0 {
		fields = append(fields, field{"overflow", s.Overflow})
	}
	fields = append(fields, details(p, inner)...)
	if list := sourcesOf(x, entry); len(list) > 0 {
		fields = append(fields, field{"sources", list})
	}
	if x.Contents().Shadow(entry) != nil {
		fields = append(fields, field{"rebuilding", true})
	}
	if made := p.Made(); made > 0 {
		fields = append(fields, field{"age", max(0, x.Milliseconds()/1000-made)})
	}
	return fields
}

func whole(n uint64) int64 { return int64(min(n, math.MaxInt64)) }

// details returns what only filters of package codec have, or only a sketch. inner is what innerOf has found.
func details(p *contents.Part, inner []field) []field {
	plan := p.Plan()
	if plan == nil {
		return inner
	}
	hasher, usable := p.Hasher()
	fields := []field{{"hash", hasher.String()}, {"usable", usable}}
	if hasher.Kind() != hashing.XXH3 {
		fields = append(fields, field{"key", plan.KeyID})
	}
	fields = append(fields, inner...)
	if plan.SLA > 0 {
		fields = append(fields, field{"sla", whole(plan.SLA)})
	}
	if plan.Budget > 0 {
		fields = append(fields, field{"budget", whole(plan.Budget)})
	}
	if plan.Replicas != 0 { // every node holds every filter, whatever number was asked for
		fields = append(fields, field{"replicas", "all"})
	}
	if plan.News > 0 {
		fields = append(fields, field{"news", whole(plan.News)})
	}
	if plan.Version > 0 {
		fields = append(fields, field{"version", whole(plan.Version)})
	}
	return fields
}

// innerOf returns what only the contents of a filter tell, or of a sketch: whole numbers, for a filter.
func innerOf(p *contents.Part) (fields []field) {
	if d, ok := p.Contents().(contents.Detailed); ok {
		return sketchDetails(p, d)
	}
	plan := p.Plan()
	if plan == nil {
		return nil
	}
	p.RLock()
	defer p.RUnlock()
	switch f := p.Filter().(type) {
	case interface{ Layers() int }:
		return []field{{"layers", int64(f.Layers())}}
	case *compose.Window:
		return []field{{"generations", int64(f.Shape().Generations)}, {"generation", whole(f.Generation())}, {"generation_ms", plan.Generation}}
	case *compose.Quorum:
		return []field{{"members", int64(len(f.Members()))}, {"need", int64(f.Need())}}
	}
	return nil
}

// sketchDetails returns the figures of a sketch, none if it is gone.
func sketchDetails(p *contents.Part, d contents.Detailed) (fields []field) {
	p.RLock()
	defer p.RUnlock()
	if p.Gone() {
		return nil
	}
	for _, v := range d.Details() {
		if v.Is == contents.IsDecimal {
			fields = append(fields, field{v.Name, v.Decimal})
		} else {
			fields = append(fields, field{v.Name, v.Whole})
		}
	}
	return fields
}

// statsOf returns the state of a filter or a sketch. It reports false if it is gone.
func statsOf(x *engine.Context, entry *catalog.Entry) (s bloomery.Stats, ok bool) {
	if f := x.Contents().Filters().Of(entry); f != nil {
		l, ok := f.Look()
		return l.Stats, ok
	}
	p := contents.PartOf(entry)
	p.RLock()
	defer p.RUnlock()
	if p.Gone() {
		return s, false
	}
	return p.Contents().Stats(), true
}

func asMap(fields []field) answer.Reply {
	pairs := make([]answer.Reply, 0, 2*len(fields))
	for _, f := range fields {
		pairs = append(pairs, answer.Text(f.name), asReply(f.value))
	}
	return answer.Pairs(pairs...)
}

func asReply(v any) answer.Reply {
	switch v := v.(type) {
	case string:
		return answer.Text(v)
	case int64:
		return answer.Integer(v)
	case bool:
		return answer.Truth(v)
	case float64:
		return answer.Float(v)
	case []sourceInfo:
		return answerSources(v)
	}
	return answer.Nil()
}

// asJSON returns the fields as an object, in their order.
func asJSON(fields []field) string {
	b := []byte{'{'}
	for i, f := range fields {
		if i > 0 {
			b = append(b, ',')
		}
		name, _ := json.Marshal(f.name) // a plain word
		b = append(append(b, name...), ':')
		value, err := json.Marshal(f.value)
		if err != nil { // a number that JSON does not have
			value = []byte("null")
		}
		b = append(b, value...)
	}
	return string(append(b, '}'))
}

// costOfInfo counts that a filter is looked at twice, and asked for random items if that
// was not done lately.
func costOfInfo(x *engine.Costs, c *engine.Call) {
	x.Look(c.Args[1])
	x.Look(c.Args[1])
	x.Items(c.Args[1], health.OnDemand*health.Batch)
	x.Seek(c.Args[1], health.OnDemand*health.Batch)
}
