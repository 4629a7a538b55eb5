package health

// Filters whose parts lie at several machines.

import (
	"math"
	"time"
)

// Merge returns what is known of a filter of which several machines know something: l has what all of them
// know, each report is a look at the parts that one of them answers for, none of them twice, and what it has
// measured.
func Merge(l Look, list []Report) Report {
	r := Report{Look: merged(l, list)}
	var probes, traffic Rate
	for i := range list {
		v := &list[i]
		probes.yes, probes.n = probes.yes+v.Probed*v.Probes, probes.n+v.Probes
		traffic.yes, traffic.n = traffic.yes+v.Traffic*v.Reports, traffic.n+v.Reports
		r.Lookups, r.False, r.Negatives, r.Repaired = r.Lookups+v.Lookups, r.False+v.False, r.Negatives+v.Negatives, r.Repaired+v.Repaired
		for w := range r.Calls {
			r.Calls[w] += v.Calls[w]
		}
		switch {
		case v.Parts == 0: // it answers for none of the items
		case v.Pace < 0 || r.Pace < 0:
			r.Pace = noPace
		default:
			r.Pace += v.Pace
		}
		r.Add, r.Has = r.Add.slower(v.Add), r.Has.slower(v.Has)
		r.Anomaly |= v.Anomaly
		if !v.Since.IsZero() && (r.Since.IsZero() || v.Since.Before(r.Since)) {
			r.Since = v.Since
		}
	}
	r.Probed, r.Probes, r.Interval, r.TooFew = probes.Value(), probes.n, probes.Interval(), !probes.Enough(r.Asked)
	r.Traffic, r.Reports, r.TrafficInterval, r.TrafficTooFew = traffic.Value(), traffic.n, traffic.Interval(), !traffic.Enough(r.Asked)
	r.Diagnosis = r.judge()
	for i := range list { // some symptoms need more than one look
		if v := list[i].Verdict; v != OK && (r.Verdict == OK || v < r.Verdict) {
			r.Diagnosis = list[i].Diagnosis
		}
	}
	return r
}

// merged returns a look at all parts. Sums are those of all; rates and shares are means.
func merged(l Look, list []Report) Look {
	l.Exact, l.Parts = true, 0
	var variance float64
	for i := range list {
		v := &list[i]
		if v.Parts == 0 {
			continue
		}
		n := float64(v.Parts)
		if l.Parts == 0 {
			l.Kind, l.Layers, l.Grows, l.Folds, l.Sourced, l.Asked = v.Kind, v.Layers, v.Grows, v.Folds, v.Sourced, v.Asked
		}
		l.Parts += v.Parts
		l.Items, l.Reported = plus(l.Items, v.Items), l.Reported+min(v.Reported, math.MaxUint64-l.Reported)
		l.Capacity, l.Bits, l.Bytes, l.Version = l.Capacity+v.Capacity, l.Bits+v.Bits, l.Bytes+v.Bytes, l.Version+v.Version
		l.Exact, l.Skew, l.Layers = l.Exact && v.Exact, max(l.Skew, v.Skew), max(l.Layers, v.Layers)
		l.Saturation, l.Overflow, l.Predicted = l.Saturation+n*v.Saturation, l.Overflow+n*v.Overflow, l.Predicted+n*v.Predicted
		variance += n * n * v.PredictedSigma * v.PredictedSigma
	}
	l.Gone = min(l.Reported, l.Items)
	n := float64(max(l.Parts, 1))
	l.Saturation, l.Overflow, l.Predicted, l.PredictedSigma = l.Saturation/n, l.Overflow/n, l.Predicted/n, math.Sqrt(variance)/n
	return l
}

// plus adds numbers of items. What could be any number stays so.
func plus(a, b uint64) uint64 {
	if a == math.MaxUint64 || b == math.MaxUint64 {
		return math.MaxUint64
	}
	return a + b
}

// slower returns the calls of two machines: those of both, and the latencies of the slower one.
func (l Latency) slower(v Latency) Latency {
	return Latency{l.Calls + v.Calls, max(l.P50, v.P50), max(l.P99, v.P99), max(l.P999, v.P999), max(l.Waited, v.Waited)}
}

// Told returns a diagnosis that another machine has made, whose command is for one filter.
func Told(verdict, reason, command string) Diagnosis {
	for i, name := range verdictNames {
		if name == verdict {
			return Diagnosis{Verdict: Verdict(i), Reason: reason, command: command}
		}
	}
	return Diagnosis{Reason: reason}
}

// Micros returns a latency that another machine has measured, in microseconds.
func Micros(calls uint64, p50, p99, p999 float64) Latency {
	d := func(v float64) time.Duration { return time.Duration(v * float64(time.Microsecond)) }
	return Latency{Calls: calls, P50: d(p50), P99: d(p99), P999: d(p999)}
}
