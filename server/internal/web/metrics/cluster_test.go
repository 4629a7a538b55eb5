package metrics

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/local"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/status"
	"github.com/bloomery/bloomery/server/internal/store"
)

// fakeCluster is a local door that says it is one of a cluster.
type fakeCluster struct {
	*local.Door
	status status.Cluster
}

var _ door.Shared = (*fakeCluster)(nil)

func (d *fakeCluster) DoGroup([]*door.Op) error   { return errors.ErrUnsupported }
func (d *fakeCluster) MaxRecord() int             { return 1 << 20 }
func (d *fakeCluster) Fresh(uint64, uint32) error { return nil }
func (d *fakeCluster) FreshNames() error          { return nil }
func (d *fakeCluster) LaneOf(uint64, uint32) int  { return 1 }
func (d *fakeCluster) Current() error             { return nil }
func (d *fakeCluster) Grace() time.Duration       { return 0 }
func (d *fakeCluster) Cluster() status.Cluster    { return d.status }

// TestClusterMetrics asks for the metrics of a server of a cluster; one that stands alone
// has none of them.
func TestClusterMetrics(t *testing.T) {
	b := newBench(t, nil, 10)
	for name := range b.scrape(t) {
		if strings.HasPrefix(name, "bloomery_cluster") || strings.HasPrefix(name, "bloomery_command_node") {
			t.Errorf("a single server has %s", name)
		}
	}
	state := store.New()
	inner, err := local.Open(local.Config{State: state})
	if err != nil {
		t.Fatal(err)
	}
	d := &fakeCluster{Door: inner, status: status.Cluster{
		ID: 1, Node: 2, Decider: 2, Serving: true, Quorum: true, Lag: 3, Sent: 10, Repeated: 1, Applied: 20, Passed: 2, Questions: status.Questions{Connections: 4, Asked: 5, Answered: 6, Unsent: 7, Unknown: 8, Sent: 9, Received: 11}, Problems: []status.Problem{{Text: "x"}},
		Lanes: []status.Lane{{Name: "CAT", Applied: 7, Head: 7}, {Name: "D1", Applied: 4, Head: 7}},
		Nodes: []status.Node{{Number: 1, Name: "a", Live: true, Trip: 2 * time.Second}, {Number: 2, Name: "b", Live: true, Self: true}, {Number: 3, Name: "c"}, {Number: 4, Left: true}},
	}}
	b.Rewire(func(c *engine.Config) { c.State, c.Door, c.Keeper = state, d, nil })
	b.handler = Handler(b.Engine, 10)
	b.do("SET", "a", "b")
	got := b.scrape(t)
	for name, want := range map[string]float64{
		"bloomery_cluster_quorum": 1, "bloomery_cluster_serving": 1, "bloomery_cluster_lag_messages": 3, "bloomery_cluster_nodes": 3, "bloomery_cluster_nodes_live": 2,
		"bloomery_cluster_decides": 1, "bloomery_cluster_problems": 1, "bloomery_cluster_messages_sent_total": 10, "bloomery_cluster_messages_repeated_total": 1,
		"bloomery_cluster_messages_applied_total": 20, "bloomery_cluster_messages_passed_total": 2,
		`bloomery_cluster_lane_lag_messages{lane="D1"}`: 3, `bloomery_cluster_lane_lag_messages{lane="CAT"}`: 0,
		"bloomery_cluster_connections": 4, "bloomery_cluster_questions_asked_total": 5, "bloomery_cluster_questions_answered_total": 6,
		"bloomery_cluster_questions_unsent_total": 7, "bloomery_cluster_questions_unknown_total": 8, "bloomery_cluster_sent_bytes_total": 9, "bloomery_cluster_received_bytes_total": 11,
		`bloomery_cluster_node_trip_seconds{name="a",node="1"}`:   2,
		`bloomery_command_node_duration_seconds_count{cmd="set"}`: 1,
		`bloomery_cluster_node_up{name="c",node="3"}`:             0, `bloomery_cluster_node_up{name="a",node="1"}`: 1,
	} {
		if v, ok := got[name]; !ok || v != want {
			t.Errorf("%s = %v, %v, want %v", name, v, ok, want)
		}
	}
	r := prometheus.NewPedanticRegistry() // refuses what was not described
	r.MustRegister(&clusterCollector{b.Engine})
	if _, err := r.Gather(); err != nil {
		t.Error(err)
	}
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	problems, err := promlint.New(w.Body).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// TestClusterAlerts asks that the alerts of a cluster use metrics that there are.
func TestClusterAlerts(t *testing.T) {
	rules, err := os.ReadFile("../../../../contrib/prometheus/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	all := make(chan *prometheus.Desc, 100)
	(&clusterCollector{}).Describe(all)
	close(all)
	there := map[string]bool{}
	for d := range all {
		name, _, _ := strings.Cut(strings.TrimPrefix(d.String(), `Desc{fqName: "`), `"`)
		there[name] = true
	}
	names := regexp.MustCompile(`bloomery_cluster_[a-z_]+`).FindAllString(string(rules), -1)
	if len(names) < 6 {
		t.Errorf("alerts use %q", names)
	}
	for _, name := range names {
		if !there[name] {
			t.Errorf("an alert uses %s, which there is not", name)
		}
	}
}
