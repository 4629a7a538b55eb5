package admin

// INFO and its sections.

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// info is INFO [section [section ...]].
var info = engine.Command{
	Name: "info", Arity: -1, Flags: traits.Loading | traits.Stale | traits.Outside, Categories: []string{"slow", "dangerous"}, Group: traits.GroupServer, Since: "1.0.0",
	Syntax: "[section [section ...]]", Complexity: "O(1)", Summary: "Describes the server.",
	Run: runInfo,
}

// infoSections are the sections of INFO in their order. Those that are not usual
// are shown only when asked for, or with all.
var infoSections = []struct {
	name  string
	usual bool
	write func(*engine.Context, *strings.Builder)
}{
	{"server", true, infoServer},
	{"clients", true, infoClients},
	{"memory", true, infoMemory},
	{"persistence", true, infoPersistence},
	{"stats", true, infoStats},
	{"replication", true, infoReplication},
	{"modules", true, infoModules},
	{"commandstats", false, infoCommands},
	{"errorstats", true, infoErrors},
	{"cluster", true, infoCluster},
	{"keyspace", true, infoKeyspace},
	{"health", true, infoHealth},
}

func runInfo(x *engine.Context, c *engine.Call) {
	asked := func(name string, usual bool) bool {
		if len(c.Args) == 1 {
			return usual
		}
		return slices.ContainsFunc(c.Args[1:], func(a []byte) bool {
			return answer.Is(a, name) || answer.Is(a, "all") || answer.Is(a, "everything") || usual && answer.Is(a, "default")
		})
	}
	var b strings.Builder
	for _, section := range infoSections {
		if !asked(section.name, section.usual) {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString("# " + strings.ToUpper(section.name[:1]) + section.name[1:] + "\r\n")
		section.write(x, &b)
	}
	c.Answer(answer.Reply{Kind: answer.Verbatim, Text: b.String()})
}

func line(b *strings.Builder, name string, value any) { fmt.Fprintf(b, "%s:%v\r\n", name, value) }

func infoServer(x *engine.Context, b *strings.Builder) {
	f := x.Server().Facts()
	up := int64(x.Now().Sub(f.Started).Seconds())
	line(b, "redis_version", answer.RedisVersion)
	line(b, "redis_mode", x.Can().Mode())
	line(b, "server_name", "bloomery")
	line(b, "bloomery_version", f.Version)
	line(b, "os", runtime.GOOS+" "+runtime.GOARCH)
	line(b, "arch_bits", 64)
	line(b, "go_version", runtime.Version())
	line(b, "process_id", os.Getpid())
	line(b, "run_id", f.RunID)
	line(b, "tcp_port", f.Port)
	line(b, "server_time_usec", x.Now().UnixMicro())
	line(b, "uptime_in_seconds", up)
	line(b, "uptime_in_days", up/86400)
	line(b, "executable", f.Executable)
	line(b, "config_file", f.ConfigFile)
}

func infoClients(x *engine.Context, b *strings.Builder) {
	f := x.Server().Facts()
	line(b, "connected_clients", f.Clients)
	line(b, "maxclients", f.MaxClients)
	line(b, "blocked_clients", f.Blocked)
}

func infoMemory(x *engine.Context, b *strings.Builder) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	used := x.Budget().Used()
	line(b, "used_memory", used)
	line(b, "used_memory_human", human(used))
	line(b, "used_memory_peak", x.Budget().Peak())
	line(b, "used_memory_peak_human", human(x.Budget().Peak()))
	line(b, "used_memory_rss", residentBytes())
	line(b, "used_memory_dataset", x.Budget().Data())
	line(b, "used_memory_clients", x.Budget().Clients())
	line(b, "maxmemory", x.Budget().Max())
	line(b, "maxmemory_human", human(x.Budget().Max()))
	line(b, "maxmemory_policy", "noeviction")
	line(b, "go_heap_alloc", m.HeapAlloc)
	line(b, "go_heap_sys", m.HeapSys)
	line(b, "go_gc_cycles", m.NumGC)
	line(b, "mem_allocator", "go")
}

// residentBytes returns the memory of the process as the system counts it, 0
// where it does not report it.
func residentBytes() int64 {
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(data), &size, &resident); err != nil {
		return 0
	}
	return resident * int64(os.Getpagesize())
}

// human formats bytes as Redis does.
func human(n int64) string {
	v, unit := float64(n), 0
	for v >= 1024 && unit < 4 {
		v /= 1024
		unit++
	}
	if unit == 0 {
		return fmt.Sprintf("%dB", n)
	}
	return fmt.Sprintf("%.2f%c", v, "BKMGT"[unit])
}

func infoPersistence(x *engine.Context, b *strings.Builder) {
	line(b, "loading", 0)
	st := x.Server().Disk().Status()
	if !st.Kept {
		line(b, "rdb_bgsave_in_progress", 0)
		line(b, "aof_enabled", 0)
		return
	}
	current := int64(-1)
	if st.Saving {
		current = int64(x.Now().Sub(st.Began).Seconds())
	}
	refused := ""
	if err := x.Refuses(); err != nil {
		refused = answer.OneLine(err)
	}
	line(b, "rdb_bgsave_in_progress", number(st.Saving))
	line(b, "rdb_last_save_time", st.Saved.Unix())
	line(b, "rdb_last_bgsave_status", okOrErr(st.Err == nil))
	line(b, "rdb_last_bgsave_time_sec", int64(st.Took.Seconds()))
	line(b, "rdb_current_bgsave_time_sec", current)
	line(b, "rdb_saves", st.Snapshots)
	line(b, "aof_enabled", 1)
	line(b, "aof_last_write_status", okOrErr(refused == ""))
	line(b, "aof_current_size", st.LogBytes)
	line(b, "aof_buffer_length", st.Buffered)
	line(b, "log_fsync", st.Mode)
	line(b, "log_position", st.LogEnd)
	line(b, "log_fsyncs", st.Syncs)
	line(b, "log_behind_ms", st.Behind.Milliseconds())
	line(b, "log_refused", refused)
}

func number(v bool) int {
	if v {
		return 1
	}
	return 0
}

func okOrErr(ok bool) string {
	if ok {
		return "ok"
	}
	return "err"
}

func infoStats(x *engine.Context, b *strings.Builder) {
	f := x.Server().Facts()
	var calls, failed int64
	x.Table().Walk(func(c *engine.Command) {
		u := x.Server().Usage(c)
		calls += u.Calls
	})
	for _, v := range x.Server().Errors() {
		failed += v.Count
	}
	line(b, "total_connections_received", f.Accepted)
	line(b, "total_commands_processed", calls)
	line(b, "instantaneous_ops_per_sec", x.Server().Notes().Pace.PerSecond())
	line(b, "total_net_input_bytes", f.BytesIn)
	line(b, "total_net_output_bytes", f.BytesOut)
	line(b, "rejected_connections", f.Rejected)
	line(b, "expired_keys", x.Server().Notes().Counters.Expired.Load())
	line(b, "evicted_keys", 0)
	hits, misses := x.Server().Notes().Counters.Found()
	line(b, "keyspace_hits", hits)
	line(b, "keyspace_misses", misses)
	line(b, "total_error_replies", failed)
	refused := x.Users().Refusals()
	line(b, "acl_access_denied_auth", refused.Auth)
	line(b, "acl_access_denied_cmd", refused.Command)
	line(b, "acl_access_denied_key", refused.Key)
	line(b, "acl_access_denied_channel", 0)
	line(b, "acl_addrate_refused", refused.AddRate)
}

func infoReplication(_ *engine.Context, b *strings.Builder) {
	line(b, "role", "master")
	line(b, "connected_slaves", 0)
}

func infoModules(_ *engine.Context, b *strings.Builder) {
	line(b, "module", fmt.Sprintf("name=bf,ver=%d,api=1,filters=0,usedby=[],using=[],options=[]", answer.BloomVersion))
}

func infoCommands(x *engine.Context, b *strings.Builder) {
	x.Table().Walk(func(c *engine.Command) {
		u := x.Server().Usage(c)
		if u.Calls == 0 && u.Rejected == 0 {
			return
		}
		micros := float64(u.Nanos) / 1000
		fmt.Fprintf(b, "cmdstat_%s:calls=%d,usec=%.0f,usec_per_call=%.2f,rejected_calls=%d,failed_calls=%d",
			c.FullName(), u.Calls, micros, micros/float64(max(u.Calls, 1)), u.Rejected, u.Failed)
		if u.Waited {
			fmt.Fprintf(b, ",usec_in_node=%d", u.Here.Nanos/1000)
		}
		b.WriteString("\r\n")
	})
}

// infoErrors shows errors by kind as Redis does, and behind each kind the commands that have most of them.
func infoErrors(x *engine.Context, b *strings.Builder) {
	for _, v := range x.Server().Errors() {
		line(b, "errorstat_"+v.Kind, fmt.Sprint("count=", v.Count))
		var by []string
		for _, c := range v.By {
			by = append(by, fmt.Sprint(cmp.Or(c.Command, "unknown"), "=", c.Count))
		}
		line(b, "errorcmd_"+v.Kind, strings.Join(by, ","))
	}
}

func infoKeyspace(x *engine.Context, b *strings.Builder) {
	if all, timed := x.Names().Count(); all > 0 {
		line(b, "db0", fmt.Sprintf("keys=%d,expires=%d,avg_ttl=0", all, timed))
	}
}
