package filter

import (
	"cmp"
	"slices"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/blueprint"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/glob"
	"github.com/bloomery/bloomery/server/internal/health"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// healthCmd is FILTER.HEALTH [MATCH pattern] [COUNT n].
var healthCmd = engine.Command{
	Name: "filter.health", Arity: -1, Max: 5, Flags: traits.ReadOnly | traits.Heavy | traits.Outside,
	Categories: []string{"read", "filter", "slow"}, Group: traits.GroupFilter, Since: "0.1.0",
	Syntax: "[MATCH pattern] [COUNT n]", Complexity: "O(n), n being the number of keys",
	Summary: "Lists filters with their verdict, the reason for it and the command that helps. Filters whose verdict is not OK come first. Up to 100 are listed, or COUNT.",
	Cost:    func(x *engine.Costs, c *engine.Call) { x.Describe(c.Args[1:]) },
	Run:     runHealth,
}

// The bounds of COUNT.
const (
	usualCount = 100
	mostCount  = 100_000
)

// parseHealth reads the arguments. It returns the error text, or "".
func parseHealth(args [][]byte) (pattern *glob.Pattern, count int, text string) {
	pattern, count = glob.New("*"), usualCount
	for i := 1; i < len(args); i += 2 {
		if i+1 == len(args) {
			return nil, 0, answer.TextSyntax
		}
		switch value := args[i+1]; {
		case answer.Is(args[i], "match"):
			pattern = glob.New(string(value))
		case answer.Is(args[i], "count"):
			var n uint64
			if text = blueprint.Number(value, &n, 1, mostCount, "COUNT"); text != "" {
				return nil, 0, text
			}
			count = int(n)
		default:
			return nil, 0, answer.TextSyntax
		}
	}
	return pattern, count, ""
}

// patient is a filter with its verdict.
type patient struct {
	name  string
	entry *catalog.Entry
	kind  string
	health.Diagnosis
}

// newKey returns what finds a secret key for the filter.
func (p *patient) newKey(x *engine.Context) func() string {
	return func() string { return x.NewKey(p.name, p.entry) }
}

// runHealth lists what is ill first. Filters that are not watched are judged on the
// spot, as many as are missing to the count: the ill ones among the others are
// found by the walk of package health.
func runHealth(x *engine.Context, c *engine.Call) {
	pattern, count, text := parseHealth(c.Args)
	if text != "" {
		c.Fail(text)
		return
	}
	var list, unknown []patient
	for cursor, more := uint64(0), true; more; more = cursor != 0 {
		if x.GaveUp(c) {
			return
		}
		cursor = scanFilters(x, cursor, pattern, func(p patient) {
			var known bool
			if p.Diagnosis, p.kind, known = x.Contents().Health().Known(x.Contents().Filters().Of(p.entry)); known {
				list = append(list, p)
			} else if len(unknown) < count {
				unknown = append(unknown, p)
			}
		})
		list = worst(list, count)
	}
	for _, p := range unknown {
		if x.GaveUp(c) {
			return
		}
		var ok bool
		if p.Diagnosis, p.kind, ok = x.Contents().Health().Judge(x.Contents().Filters().Of(p.entry)); ok {
			list = append(list, p)
		}
	}
	list = worst(list, count)
	rows := make([]answer.Reply, len(list))
	size := 0
	for i, p := range list {
		rows[i] = answer.Pairs(
			answer.Text("key"), answer.Text(p.name),
			answer.Text("kind"), answer.Text(p.kind),
			answer.Text("verdict"), answer.Text(p.Verdict.String()),
			answer.Text("reason"), answer.Text(p.Reason),
			answer.Text("command"), answer.Text(p.Command(p.name, p.newKey(x))),
		)
		const row = 1500 // of a reply in memory, besides the names
		size += row + 2*len(p.name)
	}
	if !x.Hold(size) {
		c.Fail(answer.TextOOM)
		return
	}
	c.Answer(answer.List(rows...))
}

// scanFilters passes the filters among the next names that match to f.
func scanFilters(x *engine.Context, cursor uint64, pattern *glob.Pattern, f func(patient)) uint64 {
	const few = 128
	var seen []catalog.View
	cursor = x.Names().Scan(cursor, few, &seen)
	for _, v := range seen {
		if contents.IsFilter(v.Entry) && pattern.Match(v.Name) && !x.Stopped() {
			f(patient{name: v.Name, entry: v.Entry})
		}
	}
	return cursor
}

// urgency sorts verdicts: the most urgent is the least, OK is last.
func urgency(v health.Verdict) int {
	if v == health.OK {
		return len(health.Verdicts())
	}
	return int(v)
}

// worst sorts patients by verdict and name, OK last, and cuts all behind count.
func worst(list []patient, count int) []patient {
	slices.SortFunc(list, func(a, b patient) int {
		return cmp.Or(cmp.Compare(urgency(a.Verdict), urgency(b.Verdict)), cmp.Compare(a.name, b.name))
	})
	// A name that was met twice, because the catalogue grew meanwhile, is shown once.
	list = slices.CompactFunc(list, func(a, b patient) bool { return a.entry.ID == b.entry.ID })
	return list[:min(len(list), count)]
}
