package filter

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/blueprint"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/glob"
	"github.com/bloomery/bloomery/server/internal/health"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// list is FILTER.LIST [MATCH pattern] [SORT field] [DESC] [OFFSET n] [COUNT n].
var list = engine.Command{
	Name: "filter.list", Arity: -1, Max: 10, Flags: traits.ReadOnly | traits.Heavy | traits.Outside | traits.Contents,
	Categories: []string{"read", "filter", "slow"}, Group: traits.GroupFilter, Since: "0.1.0",
	Syntax: "[MATCH pattern] [SORT field] [DESC] [OFFSET n] [COUNT n]", Complexity: "O(n log n), n being the number of keys",
	Summary: "Lists filters and sketches with what is known of them, a page at a time: the number that match, and up to 50 of them, or COUNT. They are sorted by name, kind, items, capacity, fill, saturation, asked, predicted, probed, traffic, bytes, layers, created or verdict. Nothing is probed for it. If no node that holds a filter is up, its row has only its key and the error.",
	Cost:    func(x *engine.Costs, c *engine.Call) { x.Describe(c.Args[1:]) },
	Gathers: true,
	Run:     runList,
}

// The bounds of a page.
const (
	usualPage = 50
	mostPage  = 1000
)

// lister is what FILTER.LIST was asked for.
type lister struct {
	pattern       *glob.Pattern
	field         string
	descending    bool
	offset, count int
}

// orders are the fields that a list can be sorted by, but for name and kind. What is
// not known comes first.
var orders = map[string]func(*health.Report) float64{
	"items":      func(r *health.Report) float64 { return float64(r.Items) },
	"capacity":   func(r *health.Report) float64 { return float64(r.Capacity) },
	"fill":       func(r *health.Report) float64 { return float64(r.Items) / float64(max(r.Capacity, 1)) },
	"saturation": func(r *health.Report) float64 { return r.Saturation },
	"asked":      func(r *health.Report) float64 { return r.Asked },
	"predicted":  func(r *health.Report) float64 { return r.Predicted },
	"bytes":      func(r *health.Report) float64 { return float64(r.Bytes) },
	"layers":     func(r *health.Report) float64 { return float64(r.Layers) },
	"created": func(r *health.Report) float64 {
		if r.Created.IsZero() {
			return 0
		}
		return float64(r.Created.Unix())
	},
	"probed": func(r *health.Report) float64 {
		if r.TooFew {
			return -1
		}
		return r.Probed
	},
	"traffic": func(r *health.Report) float64 {
		if r.TrafficTooFew {
			return -1
		}
		return r.Traffic
	},
	"verdict": func(r *health.Report) float64 { return float64(urgency(r.Verdict)) },
}

const textListSort = "ERR SORT takes name, kind, items, capacity, fill, saturation, asked, predicted, probed, traffic, bytes, layers, created or verdict"

// parseList reads the arguments. It returns the error text, or "".
func parseList(args [][]byte) (l lister, text string) {
	l = lister{pattern: glob.New("*"), field: "name", count: usualPage}
	for i := 1; i < len(args); i++ {
		if answer.Is(args[i], "desc") {
			l.descending = true
			continue
		}
		if i+1 == len(args) {
			return l, answer.TextSyntax
		}
		word, value := args[i], args[i+1]
		i++
		switch {
		case answer.Is(word, "match"):
			l.pattern = glob.New(string(value))
		case answer.Is(word, "sort"):
			l.field = answer.Lower(value)
			if _, ok := orders[l.field]; !ok && l.field != "name" && l.field != "kind" {
				return l, textListSort
			}
		case answer.Is(word, "offset") || answer.Is(word, "count"):
			most, name, to := uint64(mostPage), "COUNT", &l.count
			if answer.Is(word, "offset") {
				most, name, to = math.MaxInt32, "OFFSET", &l.offset
			}
			var n uint64
			if text = blueprint.Number(value, &n, 0, most, name); text != "" {
				return l, text
			}
			*to = int(n)
		default:
			return l, answer.TextSyntax
		}
	}
	return l, ""
}

// ranked is a filter with what it is sorted by.
type ranked struct {
	patient
	rank float64
}

// rankedBytes is what a filter takes while a list is sorted, besides its name.
const rankedBytes = 160

func runList(x *engine.Context, c *engine.Call) {
	if x.Contents().Assembled() && len(c.Args) == 3 && string(c.Args[1]) == listOf {
		runListOf(x, c)
		return
	}
	l, text := parseList(c.Args)
	if text != "" {
		c.Fail(text)
		return
	}
	var all []ranked
	held, ok := 0, true
	for cursor, more := uint64(0), true; more && ok; more = cursor != 0 {
		if x.GaveUp(c) {
			return
		}
		before := len(all)
		cursor = l.scan(x, cursor, func(v catalog.View) { all = append(all, ranked{patient: patient{name: v.Name, entry: v.Entry}}) })
		size := rankedBytes * (len(all) - before)
		if ok = x.Hold(size); ok {
			held += size
		}
	}
	if !ok {
		c.Fail(answer.TextOOM)
		return
	}
	if l.field != "name" && !eachFound(x, c, all, l.rank) { // of names, there is nothing to find out
		return
	}
	l.sort(&all)
	total := len(all)
	all = all[min(l.offset, total):min(l.offset+l.count, total)]
	rows, size := make([]answer.Reply, 0, len(all)), 0
	if !eachFound(x, c, all, func(p *ranked, v *found) {
		if row, ok := listed(x, &p.patient, v); ok {
			rows = append(rows, row)
		}
		const each = 5000 // of a row in memory, besides the names
		size += each + 2*len(p.name)
	}) {
		return
	}
	x.Unhold(held)
	if !x.Hold(size) {
		c.Fail(answer.TextOOM)
		return
	}
	c.Answer(answer.Pairs(answer.Text("total"), answer.Integer(int64(total)), answer.Text("filters"), answer.List(rows...)))
}

// eachFound calls f with what is known of filters and sketches that are not gone. It answers and reports false if
// that fails.
func eachFound(x *engine.Context, c *engine.Call, all []ranked, f func(*ranked, *found)) bool {
	for len(all) > 0 {
		if x.GaveUp(c) {
			return false
		}
		some := all[:min(listChunk, len(all))]
		all = all[len(some):]
		list, failed := lookAt(x, some)
		if failed.Kind != answer.None {
			c.Answer(failed)
			return false
		}
		for i := range list {
			if list[i].ok {
				f(&some[i], &list[i])
			}
		}
	}
	return true
}

// scan passes the filters and sketches among the next names that match to f.
func (l *lister) scan(x *engine.Context, cursor uint64, f func(catalog.View)) uint64 {
	const few = 128
	var seen []catalog.View
	cursor = x.Names().Scan(cursor, few, &seen)
	for _, v := range seen {
		if v.Entry.Kind != catalog.String && l.pattern.Match(v.Name) {
			f(v)
		}
	}
	return cursor
}

// peek returns what is known of a filter. Of a sketch that is its size alone, and it
// comes behind all verdicts. It reports false if it is gone.
func peek(x *engine.Context, entry *catalog.Entry) (r health.Report, ok bool) {
	if contents.IsFilter(entry) {
		return x.Contents().Health().Peek(x.Contents().Filters().Of(entry))
	}
	r.Stats, ok = statsOf(x, entry)
	r.Kind, r.Parts, r.Layers, r.TooFew, r.TrafficTooFew = contents.KindName(entry), 1, 1, true, true
	if made := contents.PartOf(entry).Made(); made > 0 {
		r.Created = time.Unix(made, 0)
	}
	return r, ok
}

// rank notes what a filter is sorted by.
func (l *lister) rank(p *ranked, v *found) {
	if p.kind = v.Kind; l.field != "kind" {
		p.rank = orders[l.field](&v.Report)
	}
	if l.field == "verdict" && !contents.IsFilter(p.entry) {
		p.rank++ // it has none
	}
}

// sort sorts filters; those that are equal stay in the order of their names. A name
// that was met twice, because the catalogue grew meanwhile, is there once.
func (l *lister) sort(all *[]ranked) {
	slices.SortFunc(*all, func(a, b ranked) int { return cmp.Compare(a.name, b.name) })
	*all = slices.CompactFunc(*all, func(a, b ranked) bool { return a.name == b.name })
	by := func(a, b ranked) int { return cmp.Compare(a.rank, b.rank) }
	switch l.field {
	case "name":
		if l.descending {
			slices.Reverse(*all)
		}
		return
	case "kind":
		by = func(a, b ranked) int { return cmp.Compare(a.kind, b.kind) }
	}
	slices.SortStableFunc(*all, func(a, b ranked) int {
		if l.descending {
			return by(b, a)
		}
		return by(a, b)
	})
}

// listed returns the row of a filter or a sketch. It reports false if it is gone.
func listed(x *engine.Context, p *patient, v *found) (answer.Reply, bool) {
	if v.row.Kind != answer.None {
		return v.row, true
	}
	r := &v.Report
	fields := listedFilter(x, p, r)
	if !contents.IsFilter(p.entry) {
		var ok bool
		if fields, ok = describe(x, p.entry, p.name); !ok {
			return answer.Reply{}, false
		}
		fields = slices.DeleteFunc(fields, func(f field) bool { return f.name == "age" })
	}
	row := []answer.Reply{answer.Text("key"), answer.Text(p.name)}
	for _, f := range fields {
		row = append(row, answer.Text(f.name), asReply(f.value))
	}
	created := answer.Nil()
	if !r.Created.IsZero() {
		created = answer.Integer(r.Created.Unix())
	}
	return answer.Pairs(append(row, answer.Text("created"), created)...), true
}

// listedFilter returns the fields of a filter.
func listedFilter(x *engine.Context, p *patient, r *health.Report) []field {
	probed, traffic := textMeasured, textMeasured
	if r.TooFew {
		probed = textTooFew
	}
	if r.TrafficTooFew {
		traffic = textNoReport
	}
	return []field{
		{"kind", r.Kind}, {"items", whole(r.Items)}, {"items_exact", r.Exact}, {"capacity", whole(r.Capacity)}, {"grows", r.Grows},
		{"bytes", whole(r.Bytes)}, {"parts", int64(r.Parts)}, {"layers", int64(r.Layers)}, {"saturation", r.Saturation}, {"skew", r.Skew},
		{"asked", r.Asked}, {"predicted", r.Predicted}, {"predicted_sigma", r.PredictedSigma},
		{"probed", r.Probed}, {"probed_low", r.Interval.Low}, {"probed_high", r.Interval.High}, {"probed_state", probed},
		{"traffic", r.Traffic}, {"traffic_low", r.TrafficInterval.Low}, {"traffic_high", r.TrafficInterval.High}, {"traffic_state", traffic},
		{"alarm", r.Repaired > 0}, {"rebuilding", x.Contents().Shadow(p.entry) != nil},
		{"verdict", r.Verdict.String()}, {"reason", r.Reason}, {"command", r.Command(p.name, p.newKey(x))},
	}
}
