package admin

// The section health of INFO.

import (
	"strconv"
	"strings"

	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/health"
)

// infoHealth shows how many filters have each verdict, and what measuring them has
// cost.
func infoHealth(x *engine.Context, b *strings.Builder) {
	t := x.Contents().Health().Totals()
	line(b, "health_filters", t.Filters)
	for _, v := range health.Verdicts() {
		line(b, "health_"+strings.ToLower(v.String()), t.ByVerdict[v])
	}
	line(b, "health_anomalous", t.Anomalous)
	line(b, "health_probes", t.Probes)
	line(b, "health_probes_positive", t.Positives)
	line(b, "health_probes_skipped", t.Busy)
	line(b, "health_evaluations", t.Evaluations)
	line(b, "health_cpu_microseconds", t.Spent.Microseconds())
	line(b, "health_cpu_share", strconv.FormatFloat(t.Share(), 'f', 6, 64))
	line(b, "health_false_positives_reported", t.False)
	line(b, "health_repaired", t.Repaired)
	line(b, "health_alarm", number(t.Repaired > 0))
}
