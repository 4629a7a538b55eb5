package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/session"
)

var (
	commandsTotal = desc("commands_total", "Calls of each command: ok, or error if it was refused or answered an error.", "cmd", "result")
	errorsTotal   = desc("errors_total", "Error replies to clients, by the first word of their text.", "kind")
	commandTook   = desc("command_duration_seconds", "How long calls of each command took until they were answered, waits for other nodes included. Those that arrive together are timed together, and each counts with the mean.", "cmd")
	commandHere   = desc("command_node_duration_seconds", "How long calls of each command took without waits for other nodes; only in a cluster.", "cmd")
)

// commandCollector collects how commands were used.
type commandCollector struct{ e *engine.Engine }

// Describe implements prometheus.Collector.
func (c *commandCollector) Describe(to chan<- *prometheus.Desc) {
	to <- commandsTotal
	to <- errorsTotal
	to <- commandTook
	to <- commandHere
}

// Collect implements prometheus.Collector.
func (c *commandCollector) Collect(to chan<- prometheus.Metric) {
	for _, v := range c.e.Errors() {
		to <- prometheus.MustNewConstMetric(errorsTotal, prometheus.CounterValue, float64(v.Count), v.Kind)
	}
	_, cluster := c.e.Cluster()
	c.e.Usages(func(name string, u *session.Usage) {
		to <- prometheus.MustNewConstMetric(commandsTotal, prometheus.CounterValue, float64(u.Calls-u.Failed), name, "ok")
		to <- prometheus.MustNewConstMetric(commandsTotal, prometheus.CounterValue, float64(u.Failed+u.Rejected), name, "error")
		if u.Calls > 0 {
			to <- histogram(commandTook, name, &u.Times)
		}
		if u.Calls > 0 && cluster {
			to <- histogram(commandHere, name, &u.Here)
		}
	})
}

// histogram returns the times of a command. The count is that of the buckets: calls
// that are counted meanwhile must not make it less than one of them.
func histogram(desc *prometheus.Desc, name string, u *session.Times) prometheus.Metric {
	last := len(u.Took) - 1
	buckets := make(map[float64]uint64, last)
	sum := uint64(0)
	for i, n := range u.Took[:last] {
		sum += uint64(n)
		buckets[session.BucketEnd(i).Seconds()] = sum
	}
	sum += uint64(u.Took[last])
	return prometheus.MustNewConstHistogram(desc, sum, float64(u.Nanos)/1e9, buckets, name)
}
