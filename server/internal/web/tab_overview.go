package web

import (
	"slices"
	"strings"
	"time"
)

// overviewView is what the first tab shows.
type overviewView struct {
	Server   object // what the API describes it with
	Commands []commandRow
	Care     []filterRow // the filters that need something, worst first
	Total    int64       // filters
	now      time.Time
}

// commandRow is how a command was used. With old, the percentiles are those of all calls:
// there were none lately.
type commandRow object

// Name is the command as people write it.
func (r commandRow) Name() string { return commandShown(object(r).text("name")) }

// commandShown returns a command as people write it.
func commandShown(name string) string { return strings.ToUpper(strings.ReplaceAll(name, "|", " ")) }

// The bounds of what the overview lists.
const (
	mostCommands = 12
	mostCare     = 5
)

func (c *call) overviewTab() error {
	return c.showTab(frame{Tab: "overview", Title: "Overview"}, func(f *frame) error {
		o, err := c.overview()
		if err != nil {
			return err
		}
		list, err := c.listFilters(view{pattern: "*", sort: "verdict", limit: mostCare})
		if err != nil {
			return err
		}
		v := &overviewView{Server: o, Total: list.Total, now: c.h.Now()}
		if v.Commands, err = c.recall(o["commands"].([]object)); err != nil {
			return err
		}
		for _, row := range list.Filters {
			if row.Ill() {
				v.Care = append(v.Care, row)
			}
		}
		f.Overview = v
		return nil
	})
}

// recall returns the first commands, with the latencies of all calls where there were none
// lately.
func (c *call) recall(commands []object) (rows []commandRow, err error) {
	if len(commands) == 0 {
		return nil, nil // nobody may ask for latencies, or there are none
	}
	reply, err := c.do("LATENCY", "HISTOGRAM")
	if err != nil {
		return nil, err
	}
	all := timingsOf(reply)
	for _, row := range commands[:min(len(commands), mostCommands)] {
		if t := all[row.text("name")]; row["p50_us"] == nil {
			row["p50_us"], row["p99_us"], row["p999_us"], row["old"] = t.percentile(0.5), t.percentile(0.99), t.percentile(0.999), true
			row["node_p99_us"] = percentile(&t.here, 0.99)
		}
		rows = append(rows, commandRow(row))
	}
	return rows, nil
}

// InNode reports whether calls have waited for other nodes: then their times without that are shown, too.
func (o *overviewView) InNode() bool {
	return slices.ContainsFunc(o.Commands, func(r commandRow) bool { return r["node_p99_us"] != nil })
}

// Used is the share of the memory limit that is used, 0 if there is no limit.
func (o *overviewView) Used() float64 {
	memory, _ := o.Server["memory"].(object)
	if limit := memory.number("limit"); limit > 0 {
		return memory.number("used") / limit
	}
	return 0
}

// Saved is how many seconds ago the last snapshot was taken, -1 if there was none: as with
// Redis, its time is then that of the start.
func (o *overviewView) Saved() int64 {
	kept, _ := o.Server["persistence"].(object)
	at, _ := time.Parse(time.RFC3339, kept.text("last_save")) // what the API has written
	ago := int64(o.now.Sub(at).Seconds())
	if kept.whole("saves") == 0 && ago <= o.Server.whole("uptime_seconds")+1 { // both are in whole seconds
		return -1
	}
	return max(ago, 0)
}

// Period is what the latencies are of.
func (o *overviewView) Period() string {
	seconds := o.Server.number("latency_seconds")
	if seconds <= 0 {
		return "Measured by the server since its start."
	}
	return "Measured by the server over the last " + age(max(int64(seconds), 1)) + ". Grey: no calls in that time, figures of all calls since the start."
}

// nodeRow is a node of a cluster with its bar: the shards that it holds, then those that it
// learns, as shares of what the node with the most of both has.
type nodeRow struct {
	Node          object
	Held, Learned float64
}

// Nodes returns the nodes of a cluster whose contents are spread.
func (o *overviewView) Nodes() (rows []nodeRow) {
	cluster, _ := o.Server["cluster"].(object)
	members, _ := cluster["members"].([]object)
	most := 1.0 // a cluster that holds nothing yet has empty bars
	for _, m := range members {
		most = max(most, m.number("shards")+m.number("learns"))
	}
	for _, m := range members {
		rows = append(rows, nodeRow{m, m.number("shards") / most, m.number("learns") / most})
	}
	return rows
}

// verdictCount is how many filters have a verdict.
type verdictCount struct {
	Verdict string
	Filters int64
}

// Verdicts returns how many filters that are measured have each verdict.
func (o *overviewView) Verdicts() (list []verdictCount) {
	totals, _ := o.Server["health"].(object)
	for _, name := range []string{"Rebuild", "Resize", "Optimize", "Compress", "OK"} {
		list = append(list, verdictCount{name, totals.whole(strings.ToLower(name))})
	}
	return list
}
