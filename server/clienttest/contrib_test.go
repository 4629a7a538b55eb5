package clienttest

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/bloomery/bloomery/server"
)

// scrape returns the names of all metrics of a server that has a filter, and their
// labels.
func scrape(t *testing.T) map[string][]string {
	t.Helper()
	cert, key := certificate(t)
	s, err := server.New(t.Context(), server.Config{Addr: []string{"127.0.0.1:0"}, Dir: t.TempDir(), TLSCert: cert, TLSKey: key})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(t.Context()) }()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		<-ended
	})
	c, err := s.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, c) }()
	// A rate in traffic needs lookups of absent keys and a false positive, as soon as
	// the use of the filter is counted.
	commands := "BF.RESERVE f 0.5 100\r\nBF.ADD f x\r\n" + strings.Repeat("BF.EXISTS f y\r\n", 100) + "FILTER.FALSE f x\r\nFILTER.INFO f\r\n"
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if _, err := io.WriteString(c, commands); err != nil {
			t.Fatal(err)
		}
		names := metricsOf(t, s.Handler())
		if names["bloomery_filter_fpr_probed"] != nil && names["bloomery_filter_fpr_traffic"] != nil {
			return names
		}
	}
	t.Fatal("the filter is not measured after 30 seconds")
	return nil
}

// certificate writes the certificate of package httptest and its key to files.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	s.Close()
	pair := s.TLS.Certificates[0]
	secret, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for name, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, key: {Type: "PRIVATE KEY", Bytes: secret},
	} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

var sample = regexp.MustCompile(`^([a-z_]+)(?:\{(.*)\})? `)

func metricsOf(t *testing.T, h http.Handler) map[string][]string {
	t.Helper()
	rec := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	h.ServeHTTP(rec, r)
	if rec.Code != http.StatusOK {
		t.Fatalf("/metrics answers %d: %s", rec.Code, rec.Body)
	}
	names := map[string][]string{}
	for line := range strings.Lines(rec.Body.String()) {
		if m := sample.FindStringSubmatch(line); m != nil {
			names[m[1]] = []string{"instance", "job"} // those of Prometheus
			for _, label := range regexp.MustCompile(`([a-z_]+)="`).FindAllStringSubmatch(m[2], -1) {
				names[m[1]] = append(names[m[1]], label[1])
			}
		}
	}
	return names
}

// rule is an alert of Prometheus.
type rule struct {
	Alert       string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

// TestAlerts reads the rules: every metric and label is that of a scrape, and every
// alert has a section in docs/alerts.md.
func TestAlerts(t *testing.T) {
	var file struct {
		Groups []struct {
			Name  string `yaml:"name"`
			Rules []rule `yaml:"rules"`
		} `yaml:"groups"`
	}
	data, err := os.Open("../../contrib/prometheus/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = data.Close() }()
	dec := yaml.NewDecoder(data)
	dec.KnownFields(true)
	if err := dec.Decode(&file); err != nil {
		t.Fatal(err)
	}
	docs, err := os.ReadFile("../../docs/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	metrics, seen := scrape(t), map[string]bool{}
	for _, name := range []string{"bloomery_cluster_quorum", "bloomery_cluster_nodes", "bloomery_cluster_nodes_live", "bloomery_cluster_lag_messages",
		"bloomery_cluster_parts_differ", "bloomery_cluster_problems", "bloomery_cluster_shards_below_copies", "bloomery_cluster_shards_learning", "bloomery_cluster_learned_bytes_total"} {
		metrics[name] = []string{} // of servers of a cluster, which a test of the metrics has
	}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			if seen[r.Alert] || !regexp.MustCompile(`^Bloomery[A-Za-z]+$`).MatchString(r.Alert) {
				t.Errorf("alert %q is there twice or has a strange name", r.Alert)
			}
			seen[r.Alert] = true
			if q, err := parseQuery(r.Expr); err != nil {
				t.Errorf("%s: %v", r.Alert, err)
			} else if err := q.check(metrics); err != nil {
				t.Errorf("%s: %v", r.Alert, err)
			}
			if _, err := time.ParseDuration(r.For); err != nil && r.For != "" {
				t.Errorf("%s: %v", r.Alert, err)
			}
			if s := r.Labels["severity"]; s != "critical" && s != "warning" {
				t.Errorf("%s: severity %q", r.Alert, s)
			}
			want := "https://github.com/bloomery/bloomery/blob/main/docs/alerts.md#" + strings.ToLower(r.Alert)
			if r.Annotations["summary"] == "" || r.Annotations["description"] == "" || r.Annotations["runbook_url"] != want {
				t.Errorf("%s: annotations %v, want the link %s", r.Alert, r.Annotations, want)
			}
			if !strings.Contains(string(docs), "\n### "+r.Alert+"\n") {
				t.Errorf("docs/alerts.md has no section %s", r.Alert)
			}
		}
	}
	if len(seen) < 10 {
		t.Errorf("%d alerts", len(seen))
	}
	for _, m := range regexp.MustCompile(`(?m)^### (Bloomery\w+)$`).FindAllStringSubmatch(string(docs), -1) {
		if !seen[m[1]] {
			t.Errorf("docs/alerts.md describes %s, and there is no such alert", m[1])
		}
	}
}

// variables are what Grafana puts in for its own and the dashboard's variables.
var variables = strings.NewReplacer("$__rate_interval", "1m", "$job", "bloomery", "$instance", ".*", "$filter", ".*")

// TestDashboard reads the dashboard: every query is PromQL with metrics and labels of a
// scrape, and uses the variable of the data source.
func TestDashboard(t *testing.T) {
	type source struct{ Type, UID string }
	type panel struct {
		ID         int
		Type       string
		Title      string
		Datasource source
		GridPos    struct{ H, W, X, Y int }
		Targets    []struct {
			Datasource source
			Expr       string
		}
	}
	var board struct {
		Title, UID string
		Panels     []panel
		Templating struct {
			List []struct{ Name, Type, Definition string }
		}
	}
	data, err := os.ReadFile("../../contrib/grafana/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &board); err != nil {
		t.Fatal(err)
	}
	metrics := scrape(t)
	var names []string
	for _, v := range board.Templating.List {
		names = append(names, v.Name)
		if m := regexp.MustCompile(`^label_values\((.*), (\w+)\)$`).FindStringSubmatch(v.Definition); m != nil {
			q, err := parseQuery(variables.Replace(m[1]))
			if q.labels = append(q.labels, m[2]); err == nil {
				err = q.check(metrics)
			}
			if err != nil {
				t.Errorf("variable %s: %v", v.Name, err)
			}
		} else if v.Type != "datasource" {
			t.Errorf("variable %s: %q", v.Name, v.Definition)
		}
	}
	if want := []string{"datasource", "job", "instance", "filter"}; !slices.Equal(names, want) {
		t.Errorf("variables %v, want %v", names, want)
	}
	ids, queries := map[int]bool{}, 0
	for _, p := range board.Panels {
		if ids[p.ID] || p.Title == "" || p.GridPos.X+p.GridPos.W > 24 || p.GridPos.H == 0 {
			t.Errorf("panel %d %q: %+v", p.ID, p.Title, p.GridPos)
		}
		ids[p.ID] = true
		if p.Type == "row" {
			continue
		}
		want := source{"prometheus", "${datasource}"}
		if p.Datasource != want || len(p.Targets) == 0 {
			t.Errorf("%s: data source %v, %d queries", p.Title, p.Datasource, len(p.Targets))
		}
		for _, target := range p.Targets {
			queries++
			expr := variables.Replace(target.Expr)
			q, err := parseQuery(expr)
			if err == nil {
				err = q.check(metrics)
			}
			if err != nil || target.Datasource != want || !strings.Contains(target.Expr, `job="$job"`) {
				t.Errorf("%s: %s: %v, data source %v", p.Title, target.Expr, err, target.Datasource)
			}
		}
	}
	if queries < 20 {
		t.Errorf("%d queries", queries)
	}
}
