package metrics

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/session"
	"github.com/bloomery/bloomery/server/internal/status"
)

// TestScrape runs commands and reads all of it back.
func TestScrape(t *testing.T) {
	b := newBench(t, &folder.Memory{}, 10)
	b.do("BF.RESERVE", "bf", "0.01", "1000")
	for i := range 100 {
		b.do("BF.ADD", "bf", fmt.Sprint(i))
	}
	b.do("FILTER.CREATE", "cuckoo", "cuckoo", "CAPACITY", "5000")
	b.do("SET", "text", "v", "PX", "1000000")
	b.do("GET", "text")
	b.do("GET", "none")
	b.do("INCR", "text") // answers an error
	b.do("GET")          // is refused
	b.do("AUTH", "nobody", "wrong")
	b.do("SAVE")
	b.Watch(5 * time.Minute)
	got := b.scrape(t)
	for name, want := range map[string]float64{
		`bloomery_start_time_seconds`: 1_600_000_000,
		`bloomery_clients`:            3, `bloomery_clients_limit`: 10_000, `bloomery_connections_total`: 5, `bloomery_connections_refused_total`: 2,
		`bloomery_received_bytes_total`: 77, `bloomery_sent_bytes_total`: 88,
		`bloomery_memory_limit_bytes`: 1 << 30, `bloomery_keys`: 3, `bloomery_keys_with_deadline`: 1, `bloomery_keys_expired_total`: 0,
		`bloomery_adds_refused_total`: 0, `bloomery_access_denied_total{reason="auth"}`: 1, `bloomery_access_denied_total{reason="key"}`: 0,
		`bloomery_keyspace_hits_total`: 1, `bloomery_keyspace_misses_total`: 1,
		`bloomery_commands_total{cmd="bf.add",result="ok"}`: 100, `bloomery_commands_total{cmd="bf.add",result="error"}`: 0,
		`bloomery_commands_total{cmd="get",result="ok"}`: 2, `bloomery_commands_total{cmd="get",result="error"}`: 1,
		`bloomery_commands_total{cmd="incr",result="ok"}`: 0, `bloomery_commands_total{cmd="incr",result="error"}`: 1,
		`bloomery_command_duration_seconds_count{cmd="bf.add"}`:                 100,
		`bloomery_command_duration_seconds_bucket{cmd="bf.add",le="1.024e-06"}`: 100, // the clock stands still
		`bloomery_command_duration_seconds_bucket{cmd="bf.add",le="+Inf"}`:      100,
		`bloomery_persistence_enabled`:                                          1, `bloomery_writes_refused`: 0, `bloomery_log_errors_total`: 0,
		`bloomery_log_fsync_mode{mode="always"}`: 1, `bloomery_snapshots_total`: 1, `bloomery_snapshot_errors_total`: 0,
		`bloomery_snapshot_running`: 0, `bloomery_snapshot_last_success`: 1, `bloomery_log_bytes`: 0, `bloomery_log_buffered_bytes`: 0,
		`bloomery_filters`: 2, `bloomery_filters_measured{verdict="OK"}`: 2, `bloomery_filters_anomalous`: 0,
		`bloomery_filter_items{filter="bf"}`: 100, `bloomery_filter_capacity{filter="bf"}`: 1000, `bloomery_filter_fpr_asked{filter="bf"}`: 0.01,
		`bloomery_filter_verdict{filter="bf",kind="bf",verdict="OK"}`:         1,
		`bloomery_filter_verdict{filter="cuckoo",kind="cuckoo",verdict="OK"}`: 1,
		`bloomery_filter_anomaly{filter="bf"}`:                                0,
		`bloomery_filter_skew{filter="bf"}`:                                   0,
		`bloomery_false_negatives_repaired_total`:                             0,
		`bloomery_false_positives_reported_total`:                             0,
	} {
		if v, ok := got[name]; !ok || v != want {
			t.Errorf("%s is %v (there: %v), want %v", name, v, ok, want)
		}
	}
	for _, name := range []string{
		`bloomery_filter_fpr_probed{filter="bf"}`, `bloomery_filter_fpr_predicted{filter="bf"}`, `bloomery_filter_saturation{filter="bf"}`,
		`bloomery_filter_memory_bytes{filter="bf"}`, `bloomery_filter_memory_bytes{filter="cuckoo"}`, `bloomery_memory_used_bytes`, `bloomery_memory_data_bytes`,
		`bloomery_health_cpu_seconds_total`, `bloomery_health_probes_total`, `go_goroutines`, `bloomery_log_fsyncs_total`, `bloomery_log_written_bytes_total`,
		`bloomery_log_last_fsync_timestamp_seconds`, `bloomery_snapshot_last_timestamp_seconds`,
	} {
		if _, ok := got[name]; !ok {
			t.Errorf("there is no %s", name)
		}
	}
	for _, name := range []string{`bloomery_filter_fpr_traffic{filter="bf"}`, `bloomery_filter_items{filter="_other"}`} {
		if v, ok := got[name]; ok {
			t.Errorf("%s is %v though nothing is known of it", name, v)
		}
	}
	if v := got[`bloomery_filter_saturation{filter="bf"}`]; v <= 0 || v >= 1 {
		t.Errorf("a filter is filled to %v", v)
	}
	if v := got[fmt.Sprintf("bloomery_build_info{go_version=%q,version=\"1.2.3\"}", runtime.Version())]; v != 1 {
		t.Errorf("build_info is %v, want 1", v)
	}
	if at := got[`bloomery_log_last_fsync_timestamp_seconds`]; math.Abs(at-float64(time.Now().Unix())) > 60 {
		t.Errorf("the last fsync was at %v", at)
	}
}

// TestWithoutDisk has no metrics of what is not there.
func TestWithoutDisk(t *testing.T) {
	b := newBench(t, nil, 10)
	got := b.scrape(t)
	if got[`bloomery_persistence_enabled`] != 0 {
		t.Error("persistence is said to be enabled")
	}
	for name := range got {
		if strings.HasPrefix(name, "bloomery_log_") || strings.HasPrefix(name, "bloomery_snapshot") {
			t.Errorf("there is %s", name)
		}
	}
}

// TestLint holds names and help texts to the conventions of Prometheus.
func TestLint(t *testing.T) {
	b := newBench(t, &folder.Memory{}, 10)
	b.do("BF.ADD", "f", "x")
	b.Watch(time.Minute)
	problems, err := promlint.New(strings.NewReader(b.text(t))).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// TestAddsRefused has a user add more than it may.
func TestAddsRefused(t *testing.T) {
	b := newBench(t, nil, 10)
	b.do("ACL", "SETUSER", "alice", "on", ">secret", "~*", "+@all", "addrate=10")
	b.do("AUTH", "alice", "secret")
	for i := range 100 {
		b.do("BF.ADD", "bf", fmt.Sprint(i))
	}
	b.do(append([]string{"BF.MADD", "bf"}, strings.Split(strings.Repeat("x", 50), "")...)...)
	got := b.scrape(t)
	if n := got[`bloomery_adds_refused_total`]; n < 1 || got[`bloomery_user_adds_refused_total{user="alice"}`] != n {
		t.Errorf("%v commands were refused, %v of alice, want 1 at least", n, got[`bloomery_user_adds_refused_total{user="alice"}`])
	}
	// 100 users have labels; those behind share one, in which nothing is lost.
	const others = `bloomery_user_adds_refused_total{user="_other"}`
	users := func() (n int, refused, total float64) {
		got := b.scrape(t)
		for name, v := range got {
			if strings.HasPrefix(name, "bloomery_user_adds_refused_total") {
				n, refused = n+1, refused+v
			}
		}
		return n, refused, got[`bloomery_adds_refused_total`]
	}
	for i := range 99 {
		b.do("ACL", "SETUSER", fmt.Sprintf("u%03d", i), "addrate=10")
	}
	if n, _, _ := users(); n != 100 {
		t.Errorf("%d labels of 100 users", n)
	}
	for i := range 99 {
		b.do("ACL", "SETUSER", fmt.Sprintf("v%03d", i), "addrate=10")
	}
	b.do("ACL", "SETUSER", "zoe", "on", ">secret", "~*", "+@all", "addrate=10")
	b.do("AUTH", "zoe", "secret")
	b.do(append([]string{"BF.MADD", "bf"}, strings.Split(strings.Repeat("y", 50), "")...)...)
	if n, refused, total := users(); n != 101 || refused != total || b.scrape(t)[others] != 1 {
		t.Errorf("%d labels of 200 users, %v of %v refused, %v of the others", n, refused, total, b.scrape(t)[others])
	}
}

// TestFigures checks the metrics that a short run leaves at 0.
func TestFigures(t *testing.T) {
	var f engine.Figures
	f.Data, f.LogEnd, f.Syncs, f.Unshaken = 3, 5, 7, 11
	at := time.Unix(1_700_000_000, 500_000_000)
	f.Synced, f.CertificateExpires = at, at.Add(time.Hour)
	want := map[string]float64{
		"memory_data_bytes": 3, "log_written_bytes_total": 5, "log_fsyncs_total": 7, "tls_handshake_errors_total": 11,
		"log_last_fsync_timestamp_seconds": 1_700_000_000.5, "tls_certificate_expiry_timestamp_seconds": 1_700_003_600.5,
		"snapshot_last_timestamp_seconds": 0, "snapshot_running": 0, "snapshot_last_success": 1,
	}
	for _, figure := range slices.Concat(serverFigures, diskFigures, tlsFigures) {
		name, _, _ := strings.Cut(strings.TrimPrefix(figure.desc.String(), `Desc{fqName: "bloomery_`), `"`)
		if v, ok := want[name]; ok && figure.of(&f) != v {
			t.Errorf("%s is %v, want %v", name, figure.of(&f), v)
		}
		delete(want, name)
	}
	if len(want) > 0 {
		t.Errorf("there is nothing of %v", want)
	}
	for _, c := range []struct {
		node, decider uint32
		want          float64
	}{{2, 2, 1}, {1, 1, 1}, {2, 1, 0}, {0, 0, 0}} {
		for _, figure := range clusterFigures {
			if strings.Contains(figure.desc.String(), "cluster_decides") {
				if got := figure.of(&status.Cluster{Node: c.node, Decider: c.decider}); got != c.want {
					t.Errorf("node %d decides where %d should: %v", c.node, c.decider, got)
				}
			}
		}
	}
}

// TestAllIsDescribed checks that every metric is described before it is collected,
// that calls longer than every bucket count, and that a single filter without a label
// is shown.
func TestAllIsDescribed(t *testing.T) {
	b := newBench(t, &folder.Memory{}, 1)
	for _, name := range []string{"a", "b"} {
		b.do("BF.ADD", name, "x")
	}
	b.Watch(time.Minute)
	if got := b.scrape(t); got[`bloomery_filter_items{filter="_other"}`] != 1 {
		t.Errorf("items of the others: %v", got[`bloomery_filter_items{filter="_other"}`])
	}
	var u session.Usage
	u.Took[0], u.Took[len(u.Took)-1] = 2, 3
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(&serverCollector{b.Engine}, &commandCollector{b.Engine}, &filterCollector{b.Engine, 1}, &userCollector{b.Engine})
	if _, err := r.Gather(); err != nil {
		t.Error(err)
	}
	r = prometheus.NewPedanticRegistry()
	r.MustRegister(one{histogram(commandTook, "x", &u.Times)})
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if n := families[0].GetMetric()[0].GetHistogram().GetSampleCount(); n != 5 {
		t.Errorf("%d calls, want 5", n)
	}
}

// one is a collector of one metric.
type one struct{ prometheus.Metric }

// Describe implements prometheus.Collector.
func (m one) Describe(to chan<- *prometheus.Desc) { to <- m.Desc() }

// Collect implements prometheus.Collector.
func (m one) Collect(to chan<- prometheus.Metric) { to <- m.Metric }

// TestTraffic reports false positives.
func TestTraffic(t *testing.T) {
	b := newBench(t, nil, 10)
	b.do("BF.RESERVE", "bf", "0.1", "100")
	b.Watch(2 * time.Second) // meters are known within a second
	for i := range 2000 {
		b.do("BF.EXISTS", "bf", fmt.Sprint(i))
	}
	b.do("BF.ADD", "bf", "x")
	b.do("FILTER.FALSE", "bf", "x")
	b.do("FILTER.REPAIR", "bf", "y")
	b.do("FILTER.CREATE", "kept", "bloom")
	b.do("FILTER.ADD", "kept", "x", "y", "z")
	b.do("FILTER.GONE", "kept", "x", "y", "absent")
	b.Watch(20 * time.Second)
	got := b.scrape(t)
	if v := got[`bloomery_filter_fpr_traffic{filter="bf"}`]; math.Abs(v-1.0/2001) > 1e-6 {
		t.Errorf("the rate in traffic is %v, want 1/2001", v)
	}
	if got[`bloomery_false_positives_reported_total`] != 1 || got[`bloomery_false_negatives_repaired_total`] != 1 {
		t.Errorf("%v reported and %v repaired, want 1 and 1", got[`bloomery_false_positives_reported_total`], got[`bloomery_false_negatives_repaired_total`])
	}
	if kept, none := got[`bloomery_filter_gone_items{filter="kept"}`], got[`bloomery_filter_gone_items{filter="bf"}`]; kept != 2 || none != 0 {
		t.Errorf("%v and %v items are gone, want 2 and 0", kept, none)
	}
}
