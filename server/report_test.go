package server_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server"
)

// TestReportOfAFolder asks that a report has what was found, and that Repair takes
// no other report.
func TestReportOfAFolder(t *testing.T) {
	dir := t.TempDir()
	s, err := server.New(server.Config{Addr: []string{"127.0.0.1:0"}, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := server.Inspect(dir)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, f := range r.Files {
		kinds[f.Kind]++
		if f.Err != nil || f.Torn != -1 {
			t.Errorf("%s: %v, torn at %d", f.Name, f.Err, f.Torn)
		}
	}
	if kinds["log"] == 0 || r.Damaged() || r.Droppable() {
		t.Errorf("files %v, damaged %v, droppable %v", kinds, r.Damaged(), r.Droppable())
	}
	if kinds["manifest"] > 0 == r.Saved.IsZero() {
		t.Errorf("%d manifests, saved %v", kinds["manifest"], r.Saved)
	}
	if err := server.Repair(dir, r); err != nil {
		t.Errorf("Repair: %v", err)
	}
	for _, made := range []*server.Report{nil, {Files: r.Files}} {
		if err := server.Repair(dir, made); !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("Repair of a report that was made: %v, want ErrParameter", err)
		}
	}
}

// TestConfigErrors asks that all errors of a Config wrap the sentinel, without its
// words: the text starts with the package and names the setting.
func TestConfigErrors(t *testing.T) {
	few := server.RedisBloomDefaults()
	few.CuckooBucket = 0
	for name, c := range map[string]server.Config{
		"addr":           {Addr: []string{"nowhere"}},
		"http":           {HTTP: []string{"nowhere"}},
		"negative":       {MaxClients: -1},
		"fsync":          {Fsync: "perhaps"},
		"cf-bucket-size": {Defaults: few},
		"cluster":        {Dir: "data", Cluster: &server.Cluster{Name: "a b"}},
		"tls":            {TLSCert: "one.pem"},
	} {
		err := c.Check()
		if !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("%s: %v does not wrap ErrParameter", name, err)
			continue
		}
		if text := err.Error(); !strings.HasPrefix(text, "server: ") || !strings.Contains(text, name) || strings.Contains(text, "bad parameter") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := server.New(c); !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("%s: New: %v does not wrap ErrParameter", name, err)
		}
	}
	if err := (server.Config{}).Check(); err != nil {
		t.Errorf("the zero Config: %v", err)
	}
}
