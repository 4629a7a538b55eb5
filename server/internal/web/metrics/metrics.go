// Package metrics shows what a server counts in the format of Prometheus.
//
//	engine.Figures ─► server ───┐
//	engine.Usages  ─► commands ─┼─► registry ─► Handler
//	engine.Limited ─► users ────┤
//	engine.Cluster ─► cluster ──┤
//	health.Reports ─► filters ──┘
//
// Nothing is counted here: collectors read, at each scrape, what the engine and the
// health of filters count anyway, so that metrics cost the paths of commands nothing.
// Each Handler has a registry of its own, and several servers in one process do not
// meet.
//
// Filters are labelled by name, as many as asked for: those with an anomaly come
// first, then those whose verdict is not OK, then the largest and the busiest. All
// others are summed up under the name _other.
package metrics

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/bloomery/bloomery/server/internal/engine"
)

// DefaultFilters is how many filters have labels of their own where nothing is set,
// MostFilters how many may have.
const (
	DefaultFilters = 500
	MostFilters    = 10_000
)

// scrapes is how many scrapes may run at once; more are answered 503.
const scrapes = 4

// Handler serves the metrics of an engine, with labels for at most so many filters.
// It does not check the user.
func Handler(e *engine.Engine, filters int) http.Handler {
	return promhttp.HandlerFor(newRegistry(e, filters), promhttp.HandlerOpts{
		// What can be shown is shown, whatever fails.
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: scrapes,
	})
}

func newRegistry(e *engine.Engine, filters int) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(
		&serverCollector{e}, &commandCollector{e}, &filterCollector{e, filters}, &userCollector{e}, &clusterCollector{e},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return r
}

// figure is a metric of the server: its description and where its value comes from.
type figure struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(*engine.Figures) float64
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("bloomery_"+name, help, labels, nil)
}

func gauge(name, help string, of func(*engine.Figures) float64) figure {
	return figure{desc(name, help), prometheus.GaugeValue, of}
}

func counter(name, help string, of func(*engine.Figures) float64) figure {
	return figure{desc(name, help), prometheus.CounterValue, of}
}

// seconds returns a moment as Prometheus has it, 0 for none.
func seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixNano()) / 1e9
}

// is returns 1 for true and 0 for false.
func is(v bool) float64 {
	if v {
		return 1
	}
	return 0
}
