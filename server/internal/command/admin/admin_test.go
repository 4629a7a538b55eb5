package admin_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/command/commandtest"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/status"
)

// TestSettingsOfTheServer sets numbers of the server to the ends of their ranges, and
// beyond.
func TestSettingsOfTheServer(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	for _, p := range []struct {
		name      string
		low, high int64
	}{
		{"timeout", 0, math.MaxInt32},
		{"maxclients", 1, math.MaxUint32},
		{"max-transaction", 1, math.MaxInt32},
		{"slowlog-log-slower-than", -1, 1 << 62},
		{"slowlog-max-len", 1, 1 << 20},
		{"acllog-max-len", 0, 1 << 20},
		{"latency-monitor-threshold", 0, 1 << 53},
	} {
		for _, n := range []int64{p.high, p.low, p.low + 2} { // 0 microseconds of the slow log are 1
			b.Script(t, fmt.Sprintf("CONFIG SET %s %d -> +OK\nCONFIG GET %[1]s -> [\"%[1]s\" \"%[2]d\"]", p.name, n))
		}
		for _, n := range []int64{p.low - 1, p.high + 1} {
			b.Script(t, fmt.Sprintf("CONFIG SET %s %d -> -ERR CONFIG SET failed (possibly related to argument '%[1]s') - "+
				"argument must be between %[3]d and %[4]d inclusive", p.name, n, p.low, p.high))
		}
		b.Script(t, fmt.Sprintf("CONFIG SET %s x -> -ERR CONFIG SET failed (possibly related to argument '%[1]s') - "+
			"argument couldn't be parsed into an integer", p.name))
	}
	b.Script(t, `
		CONFIG SET cf-max-iterations 65535 cf-max-expansions 65536 cf-bucket-size 255 -> +OK
		CONFIG GET cf-max-* -> ["cf-max-expansions" "65536" "cf-max-iterations" "65535"]
		CONFIG SET maxmemory 1 -> +OK
		CONFIG SET maxmemory 0 -> -ERR CONFIG SET failed (possibly related to argument 'maxmemory') - argument must be a memory value above 0
		CONFIG SET maxmemory 1gb bf-error-rate 0.5 -> +OK
		CONFIG SET bf-error-rate 1 -> -ERR CONFIG SET failed (possibly related to argument 'bf-error-rate') - Value for `+"`bf-error-rate`"+` must be in the range (0.000000, 1.000000)
		CONFIG SET bf-error-rate 0 -> -ERR CONFIG SET failed (possibly related to argument 'bf-error-rate') - Value for `+"`bf-error-rate`"+` must be in the range (0.000000, 1.000000)
		CONFIG SET cf-max-expansions 65537 -> -ERR CONFIG SET failed (possibly related to argument 'cf-max-expansions') - Value for `+"`cf-max-expansions`"+` must be in the range [1, 65536]
		CONFIG SET cf-max-expansions 0 -> -ERR CONFIG SET failed (possibly related to argument 'cf-max-expansions') - Value for `+"`cf-max-expansions`"+` must be in the range [1, 65536]
		CONFIG SET cf-max-iterations 65536 -> -ERR CONFIG SET failed (possibly related to argument 'cf-max-iterations') - Value for `+"`cf-max-iterations`"+` must be in the range [1, 65535]
		CONFIG SET cf-max-iterations 0 -> -ERR CONFIG SET failed (possibly related to argument 'cf-max-iterations') - Value for `+"`cf-max-iterations`"+` must be in the range [1, 65535]`)
	const must = "-ERR CONFIG SET failed (possibly related to argument 'appendfsync') - argument(s) must be one of the following: everysec, always, no"
	b.Script(t, `
		CONFIG SET timeout 7 maxclients -> -ERR wrong number of arguments for 'config|set' command
		CONFIG GET timeout -> ["timeout" "2"]
		CONFIG SET timeout 1 timeout 2 -> -ERR CONFIG SET failed (possibly related to argument 'timeout') - duplicate parameter
		CONFIG SET databases 2 -> -ERR CONFIG SET failed (possibly related to argument 'databases') - can't set immutable config
		CONFIG GET database* appendonly -> ["appendonly" "yes" "databases" "1"]
		CONFIG SET appendfsync everysec -> +OK
		CONFIG GET appendfsync -> ["appendfsync" "everysec"]
		CONFIG SET appendfsync NO -> +OK
		CONFIG GET appendfsync -> ["appendfsync" "no"]
		CONFIG SET appendfsync always -> +OK
		CONFIG GET appendfsync -> ["appendfsync" "always"]
		CONFIG SET appendfsync seldom -> `+must+`
		CONFIG GET appendfsync -> ["appendfsync" "always"]`)

	b.About.ConfigFile = "bloomery.conf"
	b.Script(t, "CONFIG REWRITE -> +OK")
	b.Rewrite = errors.New("no\nroom")
	b.Script(t, "CONFIG REWRITE -> -ERR Rewriting config file: no room")
	b.Script(t, `
		MULTI -> +OK
		CONFIG REWRITE -> -ERR Command not allowed inside a transaction
		DISCARD -> +OK`)

	b.WithoutLog(t)
	const memory = "-ERR CONFIG SET failed (possibly related to argument 'appendfsync') - this server keeps its data in memory only"
	mode := b.Exec(commandtest.Fields("CONFIG GET appendfsync"))[0].Elems[1].Text
	for _, m := range []string{"always", "everysec", "no"} {
		want := memory
		if m == mode {
			want = "+OK"
		}
		b.Script(t, "CONFIG SET appendfsync "+m+" -> "+want)
	}
	b.Script(t, `CONFIG GET appendonly -> ["appendonly" "no"]`)
}

// TestInfoFields holds every field of INFO to its name, and those that a test can
// know to their values.
func TestInfoFields(t *testing.T) {
	b := commandtest.New(t, 3<<20)
	b.About = status.Server{
		Version: "1.2.3", Started: b.Now.Add(-49 * time.Hour), Port: 6380, Accepted: 5, Rejected: 2, BytesIn: 77, BytesOut: 88,
		ConfigFile: "c.conf", Executable: "bloomery",
	}
	b.Line("SET a v EX 100")
	b.Line("GET a")
	b.Line("GET nokey")
	b.Line("GET")
	b.Line("INCR a")
	b.Line("BF.ADD f x")
	const any = "*"
	data := b.State.Bytes()
	log := b.Door.Status()
	want := map[string]string{
		"Server": fmt.Sprint("redis_version:7.4.1 redis_mode:standalone server_name:bloomery bloomery_version:1.2.3 os:"+runtime.GOOS, "_", runtime.GOARCH,
			" arch_bits:64 go_version:", runtime.Version(), " process_id:", os.Getpid(), " run_id:* tcp_port:6380 server_time_usec:1700000000000000",
			" uptime_in_seconds:176400 uptime_in_days:2 executable:bloomery config_file:c.conf"),
		"Clients": "connected_clients:1 maxclients:10000 blocked_clients:0",
		"Memory": fmt.Sprint("used_memory:", data, " used_memory_human:", data, "B used_memory_peak:* used_memory_peak_human:* used_memory_rss:* used_memory_dataset:", data,
			" used_memory_clients:0 maxmemory:3145728 maxmemory_human:3.00M maxmemory_policy:noeviction go_heap_alloc:* go_heap_sys:* go_gc_cycles:* mem_allocator:go"),
		"Persistence": fmt.Sprint("loading:0 rdb_bgsave_in_progress:0 rdb_last_save_time:", log.Saved.Unix(), " rdb_last_bgsave_status:ok rdb_last_bgsave_time_sec:0",
			" rdb_current_bgsave_time_sec:-1 rdb_saves:0 aof_enabled:1 aof_last_write_status:ok aof_current_size:", log.LogBytes,
			" aof_buffer_length:0 log_fsync:always log_position:", log.LogEnd, " log_fsyncs:* log_behind_ms:* log_refused:"),
		"Stats": "total_connections_received:5 total_commands_processed:5 instantaneous_ops_per_sec:0 total_net_input_bytes:77 total_net_output_bytes:88 " +
			"rejected_connections:2 expired_keys:0 evicted_keys:0 keyspace_hits:1 keyspace_misses:1 total_error_replies:2 " +
			"acl_access_denied_auth:0 acl_access_denied_cmd:0 acl_access_denied_key:0 acl_access_denied_channel:0 acl_addrate_refused:0",
		"Replication": "role:master connected_slaves:0",
		"Modules":     "module:name=bf,ver=80000,api=1,filters=0,usedby=[],using=[],options=[]",
		"Commandstats": "cmdstat_bf.add:calls=1,usec=0,usec_per_call=0.00,rejected_calls=0,failed_calls=0 " +
			"cmdstat_get:calls=2,usec=0,usec_per_call=0.00,rejected_calls=1,failed_calls=0 " +
			"cmdstat_incr:calls=1,usec=0,usec_per_call=0.00,rejected_calls=0,failed_calls=1 " +
			"cmdstat_set:calls=1,usec=0,usec_per_call=0.00,rejected_calls=0,failed_calls=0",
		"Errorstats": "errorstat_ERR:count=2 errorcmd_ERR:get=1,incr=1",
		"Cluster":    "cluster_enabled:0",
		"Keyspace":   "db0:keys=2,expires=1,avg_ttl=0",
		"Health": "health_filters:* health_ok:* health_rebuild:0 health_resize:0 health_optimize:0 health_compress:0 health_anomalous:0 health_probes:* health_probes_positive:* " +
			"health_probes_skipped:* health_evaluations:* health_cpu_microseconds:* health_cpu_share:* health_false_positives_reported:0 health_repaired:0 health_alarm:0",
	}
	text := b.Exec(commandtest.Fields("INFO everything"))[0].Text
	for section := range strings.SplitSeq(text, "\r\n\r\n") {
		head, body, _ := strings.Cut(section, "\r\n")
		name := strings.TrimPrefix(head, "# ")
		var got []string
		expected := strings.Fields(want[name])
		for i, line := range strings.Split(strings.TrimRight(body, "\r\n"), "\r\n") {
			line = strings.ReplaceAll(line, " ", "_")
			if field, _, _ := strings.Cut(line, ":"); i < len(expected) && expected[i] == field+":"+any {
				line = field + ":" + any
			}
			got = append(got, line)
		}
		if strings.Join(got, " ") != strings.Join(expected, " ") {
			t.Errorf("section %s\n got %s\nwant %s", name, got, expected)
		}
		delete(want, name)
		if share, found := strings.CutPrefix(body[strings.LastIndex(body, "health_cpu_share")+1:], "ealth_cpu_share:0."); name == "Health" && (!found || strings.Index(share, "\r\n") != 6) {
			t.Errorf("the share of measurements has other than 6 digits: %s", body)
		}
	}
	for name := range want {
		t.Errorf("INFO has no section %s", name)
	}
	for _, c := range []struct{ words, first, last string }{
		{"INFO", "# Server", "# Health"},
		{"INFO default", "# Server", "# Health"},
		{"INFO keyspace", "# Keyspace", "# Keyspace"},
		{"INFO CLUSTER clients", "# Clients", "# Cluster"},
	} {
		text := b.Exec(commandtest.Fields(c.words))[0].Text
		if at := strings.LastIndex(text, "# "); !strings.HasPrefix(text, c.first+"\r\n") || !strings.HasPrefix(text[at:], c.last+"\r\n") ||
			strings.Contains(text, "cmdstat") {
			t.Errorf("%s = %s", c.words, text)
		}
	}
	for seconds, want := range map[time.Duration]string{86_399: "0", 86_400: "1", 172_799: "1", 172_800: "2"} {
		b.About.Started = b.Now.Add(-seconds * time.Second)
		if text := b.Exec(commandtest.Fields("INFO server"))[0].Text; !strings.Contains(text, "\r\nuptime_in_days:"+want+"\r\n") {
			t.Errorf("%d seconds are not %s days: %s", seconds, want, text)
		}
	}
	for _, c := range []struct{ max, want string }{
		{"1023", "1023B"}, {"1024", "1.00K"}, {"1536", "1.50K"}, {"1048575", "1024.00K"}, {"1048576", "1.00M"},
		{"3221225472", "3.00G"}, {"1099511627776", "1.00T"}, {"1125899906842624", "1024.00T"},
	} {
		b.Line("CONFIG SET maxmemory " + c.max)
		if text := b.Exec(commandtest.Fields("INFO memory"))[0].Text; !strings.Contains(text, "\r\nmaxmemory_human:"+c.want+"\r\n") {
			t.Errorf("maxmemory %s is not shown as %s", c.max, c.want)
		}
	}
	b.WithoutLog(t)
	if got := b.Line("INFO persistence"); got != `"# Persistence\r\nloading:0\r\nrdb_bgsave_in_progress:0\r\naof_enabled:0\r\n"` {
		t.Errorf("INFO of a server without a log = %s", got)
	}
}

// TestErrorStats asks INFO for the errors of several kinds, also of what is no command and of what was refused.
func TestErrorStats(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	for _, line := range []string{"SET a v", "NOSUCH x", "BF.ADD a x", "BF.ADD a y", "BF.ADD", "CONFIG NOSUCH", "MULTI", "INCR a", "NOSUCH", "EXEC", "MULTI", "INCR a", "EXEC"} {
		b.Line(line)
	}
	b.Script(t, `
		INFO errorstats -> "# Errorstats\r\nerrorstat_ERR:count=5\r\nerrorcmd_ERR:unknown=2,bf.add=1,incr=1,config=1\r\nerrorstat_EXECABORT:count=1\r\nerrorcmd_EXECABORT:exec=1\r\nerrorstat_WRONGTYPE:count=2\r\nerrorcmd_WRONGTYPE:bf.add=2\r\n"
		CONFIG RESETSTAT -> +OK
		INFO errorstats -> "# Errorstats\r\n"`)
}

// TestSlowCommands looks at the slow log, the latency monitor and histograms with a
// clock that goes on by a millisecond whenever it is read.
func TestSlowCommands(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Script(t, `
		LATENCY DOCTOR -> "Slow events are not recorded. Set a threshold in milliseconds: CONFIG SET latency-monitor-threshold 100\n"
		CONFIG SET slowlog-log-slower-than 0 latency-monitor-threshold 1 -> +OK
		LATENCY DOCTOR -> "Nothing took 1 ms or more.\n"
		CLIENT SETNAME me -> +OK
		SET a v -> +OK
		CONFIG RESETSTAT -> +OK
		SLOWLOG RESET -> +OK`)
	b.Tick = time.Millisecond
	b.Line("GET a")
	b.Line("MSET a 1 b 2")
	b.Line("CONFIG SET timeout 5 requirepass secret maxclients 7")
	b.Session = engine.NewSession(2, "127.0.0.1:1", "127.0.0.1:2", b.Now, func() {})
	b.Line("AUTH secret")
	b.Line("CONFIG SET requirepass another")
	b.Now, b.Tick = time.Unix(1_700_000_010, 0), 5*time.Millisecond
	b.Line("SET a w")
	b.Tick = 0
	b.Line("CONFIG SET slowlog-log-slower-than -1")
	const doctor = `"command: 2 samples, 3 ms on average, 5 ms at most.\nfast-command: 1 samples, 1 ms on average, 1 ms at most.\n` +
		`SLOWLOG GET shows which commands took long, LATENCY HISTOGRAM how long all of them take. ` +
		`Long values and many items make commands slow; so does a machine whose processors are busy with something else.\n"`
	b.Script(t, `
		SLOWLOG GET 2 -> [[:5 :1700000010 :5000 ["SET" "(key)" "w"] "127.0.0.1:1" ""] [:4 :1700000000 :1000 ["CONFIG" "SET" "requirepass" "(redacted)"] "127.0.0.1:1" ""]]
		SLOWLOG GET -> [[:5 :1700000010 :5000 ["SET" "(key)" "w"] "127.0.0.1:1" ""] [:4 :1700000000 :1000 ["CONFIG" "SET" "requirepass" "(redacted)"] "127.0.0.1:1" ""] [:3 :1700000000 :1000 ["AUTH" "(redacted)"] "127.0.0.1:1" ""] [:2 :1700000000 :1000 ["CONFIG" "SET" "timeout" "5" "requirepass" "(redacted)" "(redacted)" "(redacted)"] "127.0.0.1:1" "me"] [:1 :1700000000 :1000 ["MSET" "(key)" "1" "(key)" "2"] "127.0.0.1:1" "me"] [:0 :1700000000 :1000 ["GET" "(key)"] "127.0.0.1:1" "me"]]
		SLOWLOG LEN -> :6
		LATENCY LATEST -> [["command" :1700000010 :5 :5] ["fast-command" :1700000000 :1 :1]]
		LATENCY HISTORY command -> [[:1700000000 :1] [:1700000010 :5]]
		LATENCY HISTORY fast-command -> [[:1700000000 :1]]
		LATENCY HISTORY nothing -> []
		LATENCY DOCTOR -> `+doctor+`
		LATENCY HISTOGRAM config get nothing ping -> ["config|resetstat" ["calls" :1 "histogram_usec" [:1 :1]] "config|set" ["calls" :3 "histogram_usec" [:1 :1 :1056 :3]] "get" ["calls" :1 "histogram_usec" [:1056 :1]]]
		LATENCY HISTOGRAM set -> ["set" ["calls" :1 "histogram_usec" [:8454 :1]]]
		LATENCY RESET fast-command nothing -> :1
		LATENCY LATEST -> [["command" :1700000010 :5 :5]]
		LATENCY RESET -> :1
		LATENCY LATEST -> []
		CONFIG RESETSTAT -> +OK
		LATENCY HISTOGRAM -> ["config|resetstat" ["calls" :1 "histogram_usec" [:1 :1]]]
		SLOWLOG RESET -> +OK
		SLOWLOG LEN -> :0
		CONFIG SET slowlog-log-slower-than 0 -> +OK`)
	b.Tick = time.Millisecond
	b.Line("CMS.MERGE to 2 a b WEIGHTS 3 4")
	b.Line("COPY a b")
	b.Tick = 0
	b.Script(t, `SLOWLOG GET 2 -> [[:7 :1700000010 :1000 ["COPY" "(key)" "(key)"] "127.0.0.1:1" ""] [:6 :1700000010 :1000 ["CMS.MERGE" "(key)" "2" "(key)" "(key)" "WEIGHTS" "3" "4"] "127.0.0.1:1" ""]]`)
	b.Line("SLOWLOG RESET")
	b.Tick = time.Millisecond
	for range 12 {
		b.Line("PING")
	}
	b.Tick = 0
	for words, want := range map[string]int{"": 10, " -1": 12, " 0": 0, " 11": 11, " 100": 12} {
		if got := len(b.Exec(commandtest.Fields("SLOWLOG GET" + words))[0].Elems); got != want {
			t.Errorf("SLOWLOG GET%s has %d entries, want %d", words, got, want)
		}
	}
}

// TestDescriptions asks COMMAND for keys, arguments and lists.
func TestDescriptions(t *testing.T) {
	commandtest.New(t, 1<<30).Script(t, `
		ACL CAT bloom cuckoo -> -ERR wrong number of arguments for 'acl|cat' command
		COMMAND LIST FILTERBY PATTERN ACL* -> ["acl" "acl|cat" "acl|deluser" "acl|dryrun" "acl|genpass" "acl|getuser" "acl|help" "acl|list" "acl|load" "acl|log" "acl|save" "acl|setuser" "acl|users" "acl|whoami"]
		COMMAND LIST FILTERBY MODULE BF -> []
		COMMAND INFO tdigest.merge -> [["tdigest.merge" :-4 [+write +denyoom +module +movablekeys] :1 :1 :1 [+@write +@tdigest] [] [["flags" [+RW] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]] ["flags" [+RO] "begin_search" ["type" "index" "spec" ["index" :2]] "find_keys" ["type" "keynum" "spec" ["keynumidx" :0 "firstkey" :1 "keystep" :1]]]] []]]
		COMMAND INFO cms.merge -> [["cms.merge" :-4 [+write +denyoom +module] :1 :1 :1 [+@write +@cms] [] [["flags" [+RW] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]]] []]]
		COMMAND INFO mset copy -> [["mset" :-3 [+write +denyoom] :1 :-1 :2 [+@write +@string +@slow] ["request_policy:multi_shard" "response_policy:all_succeeded"] [["flags" [+OW +update] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :-1 "keystep" :2 "limit" :0]]]] []] ["copy" :-3 [+write +denyoom] :1 :2 :1 [+@keyspace +@write +@slow] [] [["flags" [+RO +access] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]] ["flags" [+OW +update] "begin_search" ["type" "index" "spec" ["index" :2]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]]] []]]
		COMMAND INFO filter.create -> [["filter.create" :-3 [+write +denyoom +movablekeys] :1 :1 :1 [+@write +@filter +@slow] [] [["flags" [+OW +insert] "begin_search" ["type" "index" "spec" ["index" :1]] "find_keys" ["type" "range" "spec" ["lastkey" :0 "keystep" :1 "limit" :0]]] ["flags" [+RO] "begin_search" ["type" "unknown" "spec" []] "find_keys" ["type" "unknown" "spec" []]]] []]]
		COMMAND DOCS bf.reserve nothing -> ["bf.reserve" ["summary" "Creates a Bloom filter." "since" "1.0.0" "group" "module" "complexity" "O(1)" "module" "bf" "arguments" [["name" "key" "type" "key" "key_spec_index" :0] ["name" "error_rate" "type" "string"] ["name" "capacity" "type" "string"] ["name" "expansion" "type" "string" "token" "EXPANSION" "flags" [+optional]] ["name" "nonscaling" "type" "pure-token" "token" "NONSCALING" "flags" [+optional]]]]]
		COMMAND DOCS mset -> ["mset" ["summary" "Stores strings, all or none, replacing whatever has their names." "since" "1.0.1" "group" "string" "complexity" "O(1) for every key" "arguments" [["name" "block" "type" "block" "flags" [+multiple] "arguments" [["name" "key" "type" "key" "key_spec_index" :0] ["name" "value" "type" "string"]]]]]]
		COMMAND DOCS cms.merge -> ["cms.merge" ["summary" "Replaces the counts of a sketch by the weighted sum of those of others." "since" "2.0.0" "group" "module" "complexity" "O(n · w · d), n sketches of w counters in d rows" "module" "bf" "arguments" [["name" "destination" "type" "string"] ["name" "numkeys" "type" "string"] ["name" "source" "type" "string" "flags" [+multiple]] ["name" "weight" "type" "string" "token" "WEIGHTS" "flags" [+optional +multiple]]]]]
		COMMAND DOCS eval -> ["eval" ["summary" "Refused: the server runs no code of clients." "since" "2.6.0" "group" "scripting" "complexity" "O(1)" "arguments" [["name" "script" "type" "string"] ["name" "numkeys" "type" "string"] ["name" "key" "type" "key" "key_spec_index" :0 "flags" [+optional +multiple]] ["name" "arg" "type" "string" "flags" [+optional +multiple]]]]]
		COMMAND DOCS shutdown -> ["shutdown" ["summary" "Ends the server in order. The log has all writes, so that nothing is lost with NOSAVE either." "since" "1.0.0" "group" "server" "complexity" "O(n), n being the data that is not on disk yet" "arguments" [["name" "option" "type" "oneof" "flags" [+optional] "arguments" [["name" "nosave" "type" "pure-token" "token" "NOSAVE"] ["name" "save" "type" "pure-token" "token" "SAVE"]]] ["name" "now" "type" "pure-token" "token" "NOW" "flags" [+optional]] ["name" "force" "type" "pure-token" "token" "FORCE" "flags" [+optional]]]]]
		COMMAND DOCS module -> ["module" ["summary" "Lists modules." "since" "4.0.0" "group" "server" "complexity" "" "subcommands" ["module|help" ["summary" "Lists the subcommands." "since" "4.0.0" "group" "server" "complexity" "O(1)"] "module|list" ["summary" "Lists the modules: bf, which is built in." "since" "4.0.0" "group" "server" "complexity" "O(1)"]]]]`)
	b := commandtest.New(t, 1<<30)
	for _, c := range b.Exec(commandtest.Fields("COMMAND LIST"))[0].Elems {
		if strings.Contains(c.Text, "|") {
			t.Errorf("COMMAND LIST has the subcommand %s", c.Text)
		}
	}
	for _, c := range b.Exec(commandtest.Fields("COMMAND LIST FILTERBY MODULE bf"))[0].Elems {
		if family, _, _ := strings.Cut(c.Text, "."); !strings.Contains(" bf cf cms topk tdigest ", " "+family+" ") {
			t.Errorf("COMMAND LIST FILTERBY MODULE bf has %s", c.Text)
		}
	}
}

// TestShutdown ends the server with all words that belong together, and with no
// others.
func TestShutdown(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Script(t, `
		SHUTDOWN SAVE NOSAVE -> -ERR syntax error
		SHUTDOWN nosave now save -> -ERR syntax error
		SHUTDOWN soon -> -ERR syntax error
		SHUTDOWN ABORT NOW -> -ERR syntax error
		SHUTDOWN ABORT -> -ERR No shutdown in progress.
		SHUTDOWN NOW SAVE FORCE NOSAVE -> -ERR wrong number of arguments for 'shutdown' command`)
	if b.Ended != 0 {
		t.Fatal("the server was ended by a command that it refused")
	}
	for i, words := range []string{"", "SAVE", "NOSAVE", "nosave NOW force", "SAVE SAVE"} {
		b := commandtest.New(t, 1<<30)
		if got := b.Line("SHUTDOWN " + words); got != "+OK" || b.Ended != 1 || !b.Work.Calls[0].Mute {
			t.Errorf("%d: SHUTDOWN %s = %s, ended %d times", i, words, got, b.Ended)
		}
	}
}

// TestSmallCommands looks at the clock and at commands that do nothing here.
func TestSmallCommands(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Now = time.UnixMicro(1_789_123_456_000_789)
	b.Script(t, `
		TIME -> ["1789123456" "789"]
		WAIT x 0 -> -ERR value is not an integer or out of range
		WAIT 0 x -> -ERR timeout is not an integer or out of range
		WAIT 0 -1 -> -ERR timeout is negative
		WAIT 0 0 -> :0
		MONITOR -> +OK`)
	if commandtest.New(t, 100).Line("MONITOR") != "-"+answer.TextOOM {
		t.Error("MONITOR without memory for it")
	}
}
