package server_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server"
)

// TestConfigErrors asks that all errors of a Config wrap the sentinel, without its
// words: the text starts with the package and names the setting.
func TestConfigErrors(t *testing.T) {
	for name, c := range map[string]server.Config{
		"addr":           {Addr: []string{"nowhere"}},
		"http":           {HTTP: []string{"nowhere"}},
		"negative":       {MaxClients: -1},
		"fsync":          {Fsync: 3},
		"cf-bucket-size": {Defaults: server.Defaults{CuckooBucket: 256}},
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
		if _, err := server.New(t.Context(), c); !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("%s: New: %v does not wrap ErrParameter", name, err)
		}
	}
	if err := (server.Config{HTTP: []string{"off"}}).Check(); err == nil || !strings.Contains(err.Error(), "empty for no HTTP") {
		t.Errorf("http off: %v, want how it is turned off", err)
	}
	if err := (server.Config{}).Check(); err != nil {
		t.Errorf("the zero Config: %v", err)
	}
}
