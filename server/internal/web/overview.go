package web

// The server in figures.

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

var overviewRoutes = []route{
	{"GET", "/api/v1/info", (*call).overviewNow, reads, "Describes the server: throughput, latency, memory, log and snapshot, clients."},
}

func (c *call) overviewNow() error {
	o, err := c.overview()
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, o)
}

// overview describes the server, from INFO and LATENCY HISTOGRAM. Who may not use the
// latter sees no latencies.
func (c *call) overview() (object, error) {
	info, err := c.info("all")
	if err != nil {
		return nil, err
	}
	o := object{
		"version":        info["bloomery_version"],
		"time":           time.UnixMicro(info.whole("server_time_usec")).UTC().Format(time.RFC3339Nano),
		"uptime_seconds": info.whole("uptime_in_seconds"),
		"keys":           info.part("db0", "keys"),
		"throughput": object{
			"commands_per_second": info.whole("instantaneous_ops_per_sec"),
			"commands":            info.whole("total_commands_processed"),
			"errors":              info.whole("total_error_replies"),
			"bytes_in":            info.whole("total_net_input_bytes"),
			"bytes_out":           info.whole("total_net_output_bytes"),
		},
		"memory": object{
			"used": info.whole("used_memory"), "peak": info.whole("used_memory_peak"), "limit": info.whole("maxmemory"),
			"data": info.whole("used_memory_dataset"), "clients": info.whole("used_memory_clients"),
			"resident": info.whole("used_memory_rss"), "heap": info.whole("go_heap_alloc"),
		},
		"persistence": persistence(info),
		"clients": object{
			"connected": info.whole("connected_clients"), "limit": info.whole("maxclients"), "waiting": info.whole("blocked_clients"),
			"accepted": info.whole("total_connections_received"), "rejected": info.whole("rejected_connections"),
		},
		"health":  healthTotals(info),
		"cluster": clusterOf(info),
		"http":    object{"admin": c.h.Admin, "token": c.h.Token != "", "may_write": c.h.Admin && (c.known || c.h.Token == "" && !c.h.locked())},
	}
	o["errors"] = errorsOf(info)
	o["commands"], o["latency_seconds"], err = c.commands(info)
	return o, err
}

// persistence returns how log and snapshots are doing, null if nothing is kept.
func persistence(info infoLines) any {
	if !info.yes("aof_enabled") {
		return nil
	}
	return object{
		"fsync": info["log_fsync"], "writable": info["aof_last_write_status"] == "ok", "refused": info["log_refused"],
		"log_bytes": info.whole("aof_current_size"), "log_buffered_bytes": info.whole("aof_buffer_length"), "log_behind_ms": info.whole("log_behind_ms"),
		"saving": info.yes("rdb_bgsave_in_progress"), "last_save": time.Unix(info.whole("rdb_last_save_time"), 0).UTC().Format(time.RFC3339),
		"last_save_ok": info["rdb_last_bgsave_status"] == "ok", "last_save_seconds": info.whole("rdb_last_bgsave_time_sec"), "saves": info.whole("rdb_saves"),
	}
}

// clusterOf returns how the cluster is doing, null if there is none.
func clusterOf(info infoLines) any {
	if info["cluster_name"] == "" {
		return nil
	}
	problems := []string{}
	for i := 0; info["cluster_problem_"+strconv.Itoa(i)] != ""; i++ {
		problems = append(problems, info["cluster_problem_"+strconv.Itoa(i)])
	}
	return object{
		"copies": info.whole("cluster_copies"), "moves_paused": info.yes("cluster_moves_paused"), "moves_wait": info["cluster_moves_wait"], "shards_below": info.whole("cluster_shards_below"),
		"shards_learning": info.whole("cluster_shards_learning"), "shards_retiring": info.whole("cluster_shards_retiring"), "members": membersOf(info),
		"name": info["cluster_name"], "node": info.whole("cluster_node"), "nodes": info.whole("cluster_nodes"), "nodes_live": info.whole("cluster_nodes_live"),
		"quorum": info.yes("cluster_quorum"), "lag": info.whole("cluster_lag"), "decider": info.whole("cluster_decider"), "problems": problems,
	}
}

// errorsOf returns the errors that clients were answered, by kind, those with the most first.
func errorsOf(info infoLines) []object {
	rows := []object{}
	for name := range info {
		kind, ok := strings.CutPrefix(name, "errorstat_")
		if !ok {
			continue
		}
		by := []object{}
		for pair := range strings.SplitSeq(info["errorcmd_"+kind], ",") {
			command, _, _ := strings.Cut(pair, "=")
			by = append(by, object{"command": command, "count": info.part("errorcmd_"+kind, command)})
		}
		rows = append(rows, object{"kind": kind, "count": info.part(name, "count"), "commands": by})
	}
	slices.SortFunc(rows, func(a, b object) int {
		return cmp.Or(cmp.Compare(b.whole("count"), a.whole("count")), strings.Compare(a.text("kind"), b.text("kind")))
	})
	return rows
}

// membersOf returns the nodes of the cluster, in the order of their numbers.
func membersOf(info infoLines) []object {
	rows := []object{}
	for name, line := range info {
		text, ok := strings.CutPrefix(name, "cluster_node_")
		number, err := strconv.ParseInt(text, 10, 64)
		if !ok || err != nil {
			continue
		}
		_, rest, _ := strings.Cut(line, "addr=")
		address, _, _ := strings.Cut(rest, ",")
		rows = append(rows, object{
			"number": number, "address": address, "live": info.part(name, "live") == 1,
			"shards": info.part(name, "shards"), "learns": info.part(name, "learns"), "bytes": info.part(name, "bytes"),
		})
	}
	slices.SortFunc(rows, func(a, b object) int { return cmp.Compare(a.whole("number"), b.whole("number")) })
	return rows
}

// verdictNames are the verdicts as INFO names them.
var verdictNames = []string{"ok", "rebuild", "resize", "optimize", "compress"}

// healthTotals returns how many of the measured filters have each verdict.
func healthTotals(info infoLines) object {
	o := object{"measured": info.whole("health_filters"), "alarm": info.yes("health_alarm")}
	for _, name := range verdictNames {
		o[name] = info.whole("health_" + name)
	}
	return o
}

// commands returns how commands were used, those with the most calls first, and the
// number of seconds that the latencies are of: 0 means since the start.
func (c *call) commands(info infoLines) (rows []object, seconds float64, err error) {
	reply, err := c.do("LATENCY", "HISTOGRAM")
	if p, ok := errors.AsType[problem](err); ok && p.status == http.StatusForbidden {
		return []object{}, 0, nil
	} else if err != nil {
		return nil, 0, err
	}
	now, all := c.h.Now(), timingsOf(reply)
	before := c.h.recent.pass(now, all)
	if !before.at.IsZero() {
		seconds = now.Sub(before.at).Seconds()
	}
	names := slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		if d := all[b].calls - all[a].calls; d != 0 {
			return int(max(-1, min(1, d)))
		}
		return slices.Compare([]byte(a), []byte(b))
	})
	rows = make([]object, len(names))
	for i, name := range names {
		lately := all[name].since(before.commands[name])
		var pace any
		if seconds > 0 {
			pace = float64(lately.calls) / seconds
		}
		rows[i] = object{
			"name": name, "calls": all[name].calls, "failed": info.part("cmdstat_"+name, "failed_calls"), "rejected": info.part("cmdstat_"+name, "rejected_calls"),
			"per_second": pace, "p50_us": lately.percentile(0.5), "p99_us": lately.percentile(0.99), "p999_us": lately.percentile(0.999),
			"node_p99_us": percentile(&lately.here, 0.99),
		}
	}
	return rows, seconds, nil
}
