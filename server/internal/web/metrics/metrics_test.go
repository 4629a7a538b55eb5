package metrics

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/bloomery/bloomery/server/internal/door/local"
)

// TestScrape runs commands and reads all of it back.
func TestScrape(t *testing.T) {
	b := newBench(t, &local.Memory{}, 10)
	b.do(t, "BF.RESERVE", "bf", "0.01", "1000")
	for i := range 100 {
		b.do(t, "BF.ADD", "bf", fmt.Sprint(i))
	}
	b.do(t, "FILTER.CREATE", "cuckoo", "cuckoo", "CAPACITY", "5000")
	b.do(t, "SET", "text", "v", "PX", "1000000")
	b.do(t, "GET", "text")
	b.do(t, "GET", "none")
	b.do(t, "INCR", "text") // answers an error
	b.do(t, "GET")          // is refused
	b.do(t, "AUTH", "nobody", "wrong")
	b.do(t, "SAVE")
	b.watch(5 * time.Minute)
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
	b := newBench(t, &local.Memory{}, 10)
	b.do(t, "BF.ADD", "f", "x")
	b.watch(time.Minute)
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
	b.do(t, "ACL", "SETUSER", "alice", "on", ">secret", "~*", "+@all", "addrate=10")
	b.do(t, "AUTH", "alice", "secret")
	for i := range 100 {
		b.do(t, "BF.ADD", "bf", fmt.Sprint(i))
	}
	b.do(t, append([]string{"BF.MADD", "bf"}, strings.Split(strings.Repeat("x", 50), "")...)...)
	got := b.scrape(t)
	if n := got[`bloomery_adds_refused_total`]; n < 1 || got[`bloomery_user_adds_refused_total{user="alice"}`] != n {
		t.Errorf("%v commands were refused, %v of alice, want 1 at least", n, got[`bloomery_user_adds_refused_total{user="alice"}`])
	}
	for i := range 2 * mostUsers {
		b.do(t, "ACL", "SETUSER", fmt.Sprintf("u%03d", i), "addrate=10")
	}
	users := 0
	for name := range b.scrape(t) {
		if strings.HasPrefix(name, "bloomery_user_adds_refused_total") {
			users++
		}
	}
	if users != mostUsers+1 {
		t.Errorf("%d labels of users, want %d", users, mostUsers+1)
	}
}

// TestTraffic reports false positives.
func TestTraffic(t *testing.T) {
	b := newBench(t, nil, 10)
	b.do(t, "BF.RESERVE", "bf", "0.1", "100")
	b.watch(2 * time.Second) // meters are known within a second
	for i := range 2000 {
		b.do(t, "BF.EXISTS", "bf", fmt.Sprint(i))
	}
	b.do(t, "BF.ADD", "bf", "x")
	b.do(t, "FILTER.FALSE", "bf", "x")
	b.do(t, "FILTER.REPAIR", "bf", "y")
	b.watch(20 * time.Second)
	got := b.scrape(t)
	if v := got[`bloomery_filter_fpr_traffic{filter="bf"}`]; math.Abs(v-1.0/2001) > 1e-6 {
		t.Errorf("the rate in traffic is %v, want 1/2001", v)
	}
	if got[`bloomery_false_positives_reported_total`] != 1 || got[`bloomery_false_negatives_repaired_total`] != 1 {
		t.Errorf("%v reported and %v repaired, want 1 and 1", got[`bloomery_false_positives_reported_total`], got[`bloomery_false_negatives_repaired_total`])
	}
}
