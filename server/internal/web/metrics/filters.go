package metrics

import (
	"cmp"
	"math"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/health"
)

// The metrics of all filters together.
var (
	filtersAll      = desc("filters", "Filters. Of those that are not measured, as many as the last walk over all filters has seen.")
	filtersMeasured = desc("filters_measured", "Filters that are measured, by verdict.", "verdict")
	filtersOdd      = desc("filters_anomalous", "Filters that have an anomaly.")
	falseReported   = desc("false_positives_reported_total", "Positive answers that callers have denied with FILTER.FALSE.")
	repaired        = desc("false_negatives_repaired_total", "Items that FILTER.REPAIR found missing. It must be 0.")
	healthCPU       = desc("health_cpu_seconds_total", "Processor time of measuring filters.")
	healthProbes    = desc("health_probes_total", "Random digests that filters were asked for.")
	healthPositive  = desc("health_probes_positive_total", "Probes that were answered positively.")
	healthSkipped   = desc("health_probes_skipped_total", "Filters that were passed over because a writer had them.")
	healthEvals     = desc("health_evaluations_total", "Evaluations of filters.")
)

// filterVerdict has the kind and the verdict of a filter as labels.
var filterVerdict = desc("filter_verdict", "The verdict of a filter, and its kind; the value is 1.", "filter", "kind", "verdict")

// filterFigure is a metric of one filter.
type filterFigure struct {
	desc *prometheus.Desc
	// of returns the value, and NaN if it is not known.
	of func(*row) float64
	// sum, if it is not nil, is the same of all filters without a label.
	sum func(*rest) float64
}

// filterFigures are the metrics of one filter each.
var filterFigures = []filterFigure{
	{
		desc("filter_items", "Items in a filter, for many kinds an estimate.", "filter"),
		func(r *row) float64 { return known(float64(r.items), r.items != math.MaxUint64) },
		func(s *rest) float64 { return float64(s.Items) },
	},
	{
		desc("filter_capacity", "Items that a filter is made for.", "filter"),
		func(r *row) float64 { return known(float64(r.capacity), r.capacity > 0) },
		func(s *rest) float64 { return float64(s.Capacity) },
	},
	{
		desc("filter_memory_bytes", "Memory of a filter.", "filter"),
		func(r *row) float64 { return float64(r.bytes) },
		func(s *rest) float64 { return float64(s.Bytes) },
	},
	{
		desc("filter_anomaly", "1 if a measured rate is 6 standard deviations over the one asked for in two successive windows, or if keys concentrate in blocks; of "+other+" the number of such filters.", "filter"),
		func(r *row) float64 { return is(r.odd) },
		func(s *rest) float64 { return float64(s.odd) },
	},
	{desc("filter_gone_items", "Items that a filter keeps and FILTER.GONE has reported as deleted.", "filter"), func(r *row) float64 { return float64(r.gone) }, nil},
	{desc("filter_saturation", "Share of its array that a filter uses, from 0 to 1.", "filter"), func(r *row) float64 { return r.saturation }, nil},
	{desc("filter_skew", "How surprising the fullest block is: chance fills one so much with probability 10^-skew.", "filter"), func(r *row) float64 { return r.skew }, nil},
	{desc("filter_fpr_asked", "False positive rate asked for.", "filter"), func(r *row) float64 { return known(r.asked, r.asked > 0) }, nil},
	{desc("filter_fpr_predicted", "False positive rate that the bits predict.", "filter"), func(r *row) float64 { return r.predicted }, nil},
	{desc("filter_fpr_probed", "False positive rate measured with random digests; none if there were too few.", "filter"), func(r *row) float64 { return r.probed }, nil},
	{desc("filter_fpr_traffic", "False positive rate in the traffic of callers that report false positives; none if there were too few.", "filter"), func(r *row) float64 { return r.traffic }, nil},
	{desc("filter_saved", "Share of lookups that a filter has answered no, from 0 to 1; none if there were no lookups.", "filter"), func(r *row) float64 { return r.saved }, nil},
}

// known returns v, or NaN if it is not known.
func known(v float64, ok bool) float64 {
	if !ok {
		return math.NaN()
	}
	return v
}

// row is a filter.
type row struct {
	id, items, gone, capacity, bytes, calls uint64
	saturation, skew                        float64
	asked, predicted, probed, traffic       float64
	saved                                   float64
	kind                                    string
	verdict                                 health.Verdict
	odd                                     bool
}

func newRow(id uint64, r *health.Report) row {
	v := row{
		id: id, items: r.Items, gone: r.Gone, capacity: r.Capacity, bytes: r.Bytes, saturation: r.Saturation, skew: r.Skew,
		asked: r.Asked, predicted: r.Predicted, probed: known(r.Probed, !r.TooFew), traffic: known(r.Traffic, !r.TrafficTooFew),
		saved: r.Saved(), kind: r.Kind, verdict: r.Verdict, odd: r.Anomaly != 0,
	}
	for _, n := range r.Calls {
		v.calls += n
	}
	return v
}

// urgency is 2 for a filter with an anomaly, 1 if its verdict is not OK, 0 for others.
func (r *row) urgency() int {
	switch {
	case r.odd:
		return 2
	case r.verdict != health.OK:
		return 1
	}
	return 0
}

// rest is all filters that have no label of their own.
type rest struct {
	health.Sums
	odd int
}

func (s *rest) count(r *row) {
	s.Filters++
	if r.items != math.MaxUint64 {
		s.Items += r.items
	}
	s.Capacity += r.capacity
	s.Bytes += r.bytes
	if r.odd {
		s.odd++
	}
}

// choose puts those filters to the front of the list that get labels, n at most, and
// returns how many these are: the urgent ones, and of the others half by size and half
// by calls. Filters that are alike come in the order of their ids, so that labels
// stay.
func choose(list []row, n int) int {
	n = min(n, len(list))
	slices.SortFunc(list, func(a, b row) int {
		return cmp.Or(cmp.Compare(b.urgency(), a.urgency()), cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.id, b.id))
	})
	urgent := 0
	for urgent < n && list[urgent].urgency() > 0 {
		urgent++
	}
	large := urgent + (n-urgent)/2
	slices.SortFunc(list[large:], func(a, b row) int {
		return cmp.Or(cmp.Compare(b.calls, a.calls), cmp.Compare(a.id, b.id))
	})
	return n
}

// filterCollector collects what is known of filters, with labels for at most so many.
type filterCollector struct {
	e    *engine.Engine
	most int
}

// Describe implements prometheus.Collector.
func (c *filterCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		filtersAll, filtersMeasured, filtersOdd, falseReported, repaired,
		healthCPU, healthProbes, healthPositive, healthSkipped, healthEvals, filterVerdict,
	} {
		to <- d
	}
	for i := range filterFigures {
		to <- filterFigures[i].desc
	}
}

// Collect implements prometheus.Collector. Filters that have a label of their own and have
// changed are looked at; none is waited for.
func (c *filterCollector) Collect(to chan<- prometheus.Metric) {
	var list []row
	sums := rest{Sums: c.e.Health().Reports(func(id uint64, r *health.Report) { list = append(list, newRow(id, r)) })}
	set := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	set(filtersAll, float64(len(list)+sums.Filters))
	c.totals(to)
	n := choose(list, c.most)
	for i := range list[n:] {
		sums.count(&list[n+i])
	}
	ids := make([]uint64, n)
	for i := range ids {
		ids[i] = list[i].id
	}
	names := c.e.NamesOf(ids)
	for i := range list[:n] {
		r := &list[i]
		if now, ok := c.e.Health().Current(r.id); ok {
			*r = newRow(r.id, &now)
		}
		name, there := names[r.id]
		if !there {
			continue
		}
		name = label(name, r.id)
		set(filterVerdict, 1, name, valid(r.kind), r.verdict.String())
		for j := range filterFigures {
			if v := filterFigures[j].of(r); !math.IsNaN(v) {
				set(filterFigures[j].desc, v, name)
			}
		}
	}
	if sums.Filters > 0 {
		for j := range filterFigures {
			if filterFigures[j].sum != nil {
				set(filterFigures[j].desc, filterFigures[j].sum(&sums), other)
			}
		}
	}
}

// totals sends the figures of all filters together.
func (c *filterCollector) totals(to chan<- prometheus.Metric) {
	t := c.e.Health().Totals()
	for _, v := range health.Verdicts() {
		to <- prometheus.MustNewConstMetric(filtersMeasured, prometheus.GaugeValue, float64(t.ByVerdict[v]), v.String())
	}
	to <- prometheus.MustNewConstMetric(filtersOdd, prometheus.GaugeValue, float64(t.Anomalous))
	for _, v := range []struct {
		desc  *prometheus.Desc
		value float64
	}{
		{falseReported, float64(t.False)}, {repaired, float64(t.Repaired)}, {healthCPU, t.Spent.Seconds()},
		{healthProbes, float64(t.Probes)}, {healthPositive, float64(t.Positives)}, {healthSkipped, float64(t.Busy)}, {healthEvals, float64(t.Evaluations)},
	} {
		to <- prometheus.MustNewConstMetric(v.desc, prometheus.CounterValue, v.value)
	}
}
