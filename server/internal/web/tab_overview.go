package web

import (
	"encoding/json"
	"strings"
	"time"
)

// overviewView is what the first tab shows: what the API describes the server with.
type overviewView struct {
	Version    string `json:"version"`
	Uptime     int64  `json:"uptime_seconds"`
	Throughput struct {
		PerSecond int64 `json:"commands_per_second"`
		Commands  int64 `json:"commands"`
		Errors    int64 `json:"errors"`
		In        int64 `json:"bytes_in"`
		Out       int64 `json:"bytes_out"`
	} `json:"throughput"`
	Memory struct {
		Used     int64 `json:"used"`
		Peak     int64 `json:"peak"`
		Limit    int64 `json:"limit"`
		Data     int64 `json:"data"`
		Clients  int64 `json:"clients"`
		Resident int64 `json:"resident"`
	} `json:"memory"`
	Persistence *struct {
		Fsync    string    `json:"fsync"`
		Writable bool      `json:"writable"`
		Refused  string    `json:"refused"`
		Log      int64     `json:"log_bytes"`
		Buffered int64     `json:"log_buffered_bytes"`
		Behind   int64     `json:"log_behind_ms"`
		Saving   bool      `json:"saving"`
		Saved    time.Time `json:"last_save"`
		SavedOK  bool      `json:"last_save_ok"`
		Saves    int64     `json:"saves"`
	} `json:"persistence"`
	Clients struct {
		Connected int64 `json:"connected"`
		Limit     int64 `json:"limit"`
		Waiting   int64 `json:"waiting"`
		Accepted  int64 `json:"accepted"`
		Rejected  int64 `json:"rejected"`
	} `json:"clients"`
	Health   map[string]any `json:"health"`
	Commands []commandRow   `json:"commands"`
	Seconds  float64        `json:"latency_seconds"`
	Cluster  *clusterView   `json:"cluster"`

	Care  []filterRow // the filters that need something, worst first
	Total int64       // filters
	now   time.Time
}

// clusterView is what the first tab shows of a cluster.
type clusterView struct {
	Name     string   `json:"name"`
	Node     int64    `json:"node"`
	Nodes    int64    `json:"nodes"`
	Live     int64    `json:"nodes_live"`
	Quorum   bool     `json:"quorum"`
	Lag      int64    `json:"lag"`
	Problems []string `json:"problems"`
}

// commandRow is how a command was used. The percentiles are 0 if it was not.
type commandRow struct {
	Command string  `json:"name"`
	Calls   int64   `json:"calls"`
	P50     float64 `json:"p50_us"`
	P99     float64 `json:"p99_us"`
	P999    float64 `json:"p999_us"`
	Old     bool    `json:"-"` // those of all calls: there were none lately
}

// Name is the command as people write it.
func (r commandRow) Name() string { return strings.ToUpper(strings.ReplaceAll(r.Command, "|", " ")) }

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
		v := &overviewView{Total: list.Total, now: c.h.Now()}
		if err := into(o, v); err != nil {
			return err
		}
		v.Commands = v.Commands[:min(len(v.Commands), mostCommands)]
		if err := c.recall(v.Commands); err != nil {
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

// recall shows the latencies of all calls where there were none lately.
func (c *call) recall(rows []commandRow) error {
	if len(rows) == 0 {
		return nil // nobody may ask for latencies, or there are none
	}
	reply, err := c.do("LATENCY", "HISTOGRAM")
	if err != nil {
		return err
	}
	all := timingsOf(reply)
	for i := range rows {
		row, t := &rows[i], all[rows[i].Command]
		if row.P50 > 0 {
			continue
		}
		row.P50, _ = t.percentile(0.5).(float64)
		row.P99, _ = t.percentile(0.99).(float64)
		row.P999, _ = t.percentile(0.999).(float64)
		row.Old = true
	}
	return nil
}

// into fills v with what the API answers: pages and API show the same.
func into(answer, v any) error {
	data, err := encode(answer)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

// Used is the share of the memory limit that is used, 0 if there is no limit.
func (o *overviewView) Used() float64 {
	if o.Memory.Limit > 0 {
		return float64(o.Memory.Used) / float64(o.Memory.Limit)
	}
	return 0
}

// Saved is how many seconds ago the last snapshot was taken, -1 if there was none: as with
// Redis, its time is then that of the start.
func (o *overviewView) Saved() int64 {
	ago := int64(o.now.Sub(o.Persistence.Saved).Seconds())
	if o.Persistence.Saves == 0 && ago <= o.Uptime+1 { // both are in whole seconds
		return -1
	}
	return max(ago, 0)
}

// Period is what the latencies are of.
func (o *overviewView) Period() string {
	if o.Seconds <= 0 {
		return "Measured by the server since its start."
	}
	return "Measured by the server over the last " + age(max(int64(o.Seconds), 1)) + ". Grey: no calls in that time, figures of all calls since the start."
}

// verdictCount is how many filters have a verdict.
type verdictCount struct {
	Verdict string
	Filters int64
}

// Verdicts returns how many filters that are measured have each verdict.
func (o *overviewView) Verdicts() (list []verdictCount) {
	for _, name := range []string{"Rebuild", "Resize", "Optimize", "Compress", "OK"} {
		n, _ := o.Health[strings.ToLower(name)].(float64)
		list = append(list, verdictCount{name, int64(n)})
	}
	return list
}
