package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/bloomery/bloomery/server/internal/engine"
)

// mostUsers is how many users have labels of their own.
const mostUsers = 100

var (
	accessDenied = desc("access_denied_total", "What users were refused: a login (auth), a command or a key.", "reason")
	addsRefused  = desc("adds_refused_total", "Commands that were refused because their user adds more than its addrate.")
	userRefused  = desc("user_adds_refused_total", "Commands that were refused because they were above the addrate of a user who has one.", "user")
)

// userCollector collects what users were refused.
type userCollector struct{ e *engine.Engine }

// Describe implements prometheus.Collector.
func (c *userCollector) Describe(to chan<- *prometheus.Desc) {
	to <- accessDenied
	to <- addsRefused
	to <- userRefused
}

// Collect implements prometheus.Collector.
func (c *userCollector) Collect(to chan<- prometheus.Metric) {
	count := func(d *prometheus.Desc, v int64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	all := c.e.Users.Refusals()
	count(accessDenied, all.Auth, "auth")
	count(accessDenied, all.Command, "command")
	count(accessDenied, all.Key, "key")
	count(addsRefused, all.AddRate)
	n, others := uint64(0), int64(0)
	c.e.Users.Limited(func(user string, refused int64) {
		if n++; n > mostUsers {
			others += refused
			return
		}
		count(userRefused, refused, label(user, n))
	})
	if n > mostUsers {
		count(userRefused, others, other)
	}
}
