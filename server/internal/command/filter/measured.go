package filter

// What FILTER.INFO shows of rates and latencies that were measured.

import (
	"math"
	"time"

	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/health"
)

// What FILTER.INFO shows of a rate that stands on too little, and of one that does
// not.
const (
	textMeasured = "measured"
	textTooFew   = "too few probes"
	textNoReport = "too few lookups of absent keys"
)

// measured returns what was seen of a filter in use, and its verdict.
func measured(x *engine.Context, entry *catalog.Entry, r *health.Report, name string) []field {
	probed, traffic := textMeasured, textMeasured
	if r.TooFew {
		probed = textTooFew
	}
	if r.TrafficTooFew {
		traffic = textNoReport
	}
	fields := []field{
		{"grows", r.Grows},
		{"probed", r.Probed},
		{"probed_low", r.Interval.Low},
		{"probed_high", r.Interval.High},
		{"probed_state", probed},
		{"probes", int64(r.Probes)},
		{"traffic", r.Traffic},
		{"traffic_low", r.TrafficInterval.Low},
		{"traffic_high", r.TrafficInterval.High},
		{"traffic_state", traffic},
		{"false_reported", whole(r.False)},
		{"lookups", whole(r.Lookups)},
		{"negatives", whole(r.Negatives)},
		{"saved", known(r.Saved())},
		{"items_per_second", known(r.Pace)},
		{"gone", whole(r.Gone)},
		{"repaired", whole(r.Repaired)},
		{"alarm", r.Repaired > 0},
		{"anomaly", r.Anomaly.String()},
	}
	fields = append(fields, latency("add", r.Add)...)
	fields = append(fields, latency("has", r.Has)...)
	return append(fields,
		field{"calls", whole(r.Calls[health.Add] + r.Calls[health.Has] + r.Calls[health.Delete] + r.Calls[health.Count])},
		field{"measured_seconds", max(0, int64(x.Now().Sub(r.Since).Seconds()))},
		field{"verdict", r.Verdict.String()},
		field{"reason", r.Reason},
		field{"command", r.Command(name, (&patient{name: name, entry: entry}).newKey(x))},
	)
}

// known returns v, nil if it is not known: NaN or negative.
func known(v float64) any {
	if math.IsNaN(v) || v < 0 {
		return nil
	}
	return v
}

// latency returns the fields of the latency of a kind of calls.
func latency(what string, l health.Latency) []field {
	micros := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
	return []field{
		{what + "_calls", whole(l.Calls)},
		{what + "_p50_us", micros(l.P50)},
		{what + "_p99_us", micros(l.P99)},
		{what + "_p999_us", micros(l.P999)},
	}
}
