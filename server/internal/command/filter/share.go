package filter

// Filters whose parts lie at several nodes: what one of them knows, as it tells another.

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/health"
)

// share is what a node knows of a filter: a look at the parts that are its own, and what it has measured of
// all that it holds.
type share struct {
	health.Report
	first int     // the first of the parts
	inner []field // of that, see innerOf
}

// shareOf returns the share of this node, probed if that is asked for. It reports false if the filter is gone.
func shareOf(x *engine.Context, entry *catalog.Entry, probe bool) (v share, ok bool) {
	if v.first = firstMine(x, entry); v.first >= 0 {
		if v.Look, ok = x.Contents().Filters().Some(entry, func(p *contents.Part) bool { return x.Contents().Mine(entry, p) }).Look(); !ok {
			return v, false
		}
		v.inner = innerOf(contents.PartAt(entry, uint32(v.first)))
	}
	whole := x.Contents().Filters().Of(entry)
	if _, ok := whole.Version(); !ok { // it holds nothing of it
		return v, v.first < 0
	}
	report := x.Contents().Health().Peek
	if probe {
		report = x.Contents().Health().Report
	}
	look := v.Look
	v.Report, ok = report(whole)
	if held := v.Items; v.Pace > 0 && held > 0 { // the parts of others come at theirs
		v.Pace *= float64(look.Items) / float64(held)
	}
	v.Look = look
	return v, ok
}

// firstMine returns the first part that this node answers for, -1 if there is none.
func firstMine(x *engine.Context, entry *catalog.Entry) int {
	for i, p := range contents.Parts(entry) {
		if x.Contents().Mine(entry, p) {
			return i
		}
	}
	return -1
}

// reply returns the share as it is sent, of a filter of a name.
func (v *share) reply(x *engine.Context, entry *catalog.Entry, name string) answer.Reply {
	fields := []field{
		{"kind", v.Kind}, {"parts", int64(v.Parts)}, {"first", int64(v.first)}, {"layers", int64(v.Layers)}, {"grows", v.Grows}, {"folds", v.Folds}, {"sourced", v.Sourced},
		{"capacity", int64(v.Capacity)}, {"items", int64(v.Items)}, {"gone", whole(v.Reported)}, {"exact", v.Exact}, {"bits", int64(v.Bits)}, {"bytes", int64(v.Bytes)},
		{"saturation", v.Saturation}, {"overflow", v.Overflow}, {"asked", v.Asked}, {"predicted", v.Predicted}, {"sigma", v.PredictedSigma}, {"skew", v.Skew},
		{"probed", v.Probed}, {"probes", v.Probes}, {"pace", v.Pace}, {"traffic", v.Traffic}, {"reports", v.Reports},
		{"lookups", int64(v.Lookups)}, {"false", int64(v.False)}, {"negatives", int64(v.Negatives)}, {"repaired", int64(v.Repaired)}, {"anomaly", int64(v.Anomaly)},
	}
	for w, n := range v.Calls {
		fields = append(fields, field{callsName(w), int64(n)})
	}
	fields = append(append(fields, latency("add", v.Add)...), latency("has", v.Has)...)
	if !v.Since.IsZero() {
		fields = append(fields, field{"since", v.Since.UnixMilli()})
	}
	fields = append(fields, field{"verdict", v.Verdict.String()}, field{"reason", v.Reason},
		field{"command", v.Command(name, (&patient{name: name, entry: entry}).newKey(x))})
	for _, f := range v.inner {
		fields = append(fields, field{innerMark + f.name, f.value})
	}
	return asMap(fields)
}

func callsName(work int) string { return "calls" + string(rune('0'+work)) }

// innerMark stands in front of fields that innerOf has made.
const innerMark = "."

// readShare reads what reply has made. What another release has left out is zero.
func readShare(r *answer.Reply) (v share) {
	is := map[string]*answer.Reply{}
	none := &answer.Reply{}
	for i := 0; i+1 < len(r.Elems); i += 2 {
		name, value := r.Elems[i].Text, &r.Elems[i+1]
		is[name] = value
		if inner, ok := strings.CutPrefix(name, innerMark); ok {
			v.inner = append(v.inner, field{inner, value.N})
		}
	}
	at := func(name string) *answer.Reply {
		if r := is[name]; r != nil {
			return r
		}
		return none
	}
	whole := func(name string) uint64 { return uint64(at(name).N) }
	decimal := func(name string) float64 { return math.Float64frombits(whole(name)) }
	yes := func(name string) bool { return whole(name) != 0 }
	timed := func(name string) health.Latency {
		return health.Micros(whole(name+"_calls"), decimal(name+"_p50_us"), decimal(name+"_p99_us"), decimal(name+"_p999_us"))
	}
	v.first = int(at("first").N)
	v.Stats = bloomery.Stats{
		Kind: at("kind").Text, Capacity: whole("capacity"), Items: whole("items"), Exact: yes("exact"), Bits: whole("bits"), Bytes: whole("bytes"),
		Saturation: decimal("saturation"), Overflow: decimal("overflow"), Asked: decimal("asked"),
		Predicted: decimal("predicted"), PredictedSigma: decimal("sigma"), Skew: decimal("skew"),
	}
	v.Reported = whole("gone")
	v.Parts, v.Layers, v.Grows, v.Folds, v.Sourced = int(whole("parts")), int(whole("layers")), yes("grows"), yes("folds"), yes("sourced")
	v.Pace, v.Probed, v.Probes, v.Traffic, v.Reports = decimal("pace"), decimal("probed"), decimal("probes"), decimal("traffic"), decimal("reports")
	v.Lookups, v.False, v.Negatives, v.Repaired = whole("lookups"), whole("false"), whole("negatives"), whole("repaired")
	v.Anomaly = health.Anomaly(whole("anomaly"))
	for w := range v.Calls {
		v.Calls[w] = whole(callsName(w))
	}
	v.Add, v.Has = timed("add"), timed("has")
	if is["since"] != nil {
		v.Since = time.UnixMilli(at("since").N)
	}
	v.Diagnosis = health.Told(at("verdict").Text, at("reason").Text, at("command").Text)
	return v
}

// mergeShares returns what all nodes together know of a filter, and the inner fields of its first part. It
// reports false if some parts are nobody's.
func mergeShares(x *engine.Context, entry *catalog.Entry, shares []share) (r health.Report, inner []field, ok bool) {
	list, first, parts := make([]health.Report, len(shares)), math.MaxInt, 0
	for i, v := range shares {
		list[i] = v.Report
		if parts += v.Parts; v.Parts > 0 && v.first < first {
			first, inner = v.first, v.inner
		}
	}
	return health.Merge(x.Contents().Filters().Known(entry), list), inner, parts == contents.PartCount(entry)
}

// assembleInfo describes a filter from what nodes know of their parts.
func assembleInfo(x *engine.Context, c *engine.Call, parts []answer.Reply) answer.Reply {
	var entry *catalog.Entry
	x.Look(func() { entry = x.Names().Lookup(c.Args[1]) })
	if entry == nil || !contents.IsFilter(entry) {
		return answer.Fail(answer.TextNotFound)
	}
	shares := make([]share, len(parts))
	for i := range parts {
		shares[i] = readShare(&parts[i])
	}
	r, inner, ok := mergeShares(x, entry, shares)
	if !ok {
		return answer.Fail(answer.TextNotFound) // another has its name
	}
	name := string(c.Args[1])
	fields := describedAs(x, entry, r.Stats, inner)
	return infoReply(x, c, entry, append(append(fields, measured(x, entry, &r, name)...), lies(x, entry)...))
}

// lies returns the field that says which nodes hold how many parts of a filter: "1:8 2:8", in the order
// of their numbers. There is none if all nodes hold all of them.
func lies(x *engine.Context, entry *catalog.Entry) []field {
	r := x.Contents().Roster()
	if !r.Spread() || contents.Everywhere(entry) {
		return nil
	}
	counts := map[uint32]int{}
	for _, p := range contents.Parts(entry) {
		for _, node := range r.Shards.Places[p.Shard()].Holders() {
			counts[node]++
		}
	}
	var b []byte
	for _, node := range slices.Sorted(maps.Keys(counts)) {
		b = fmt.Appendf(b, " %d:%d", node, counts[node])
	}
	if len(b) == 0 {
		return nil
	}
	return []field{{"nodes", string(b[1:])}}
}
