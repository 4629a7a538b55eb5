package server_test

import (
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server"
)

// TestClusterConfig asks what is wrong with configurations of a cluster.
func TestClusterConfig(t *testing.T) {
	base := server.Cluster{Name: "c1", Join: []string{"127.0.0.1:1", "localhost:2", "[::1]:3"}}
	with := func(change func(*server.Cluster)) *server.Cluster {
		c := base
		change(&c)
		return &c
	}
	secured := func(c *server.Cluster) {
		c.Addr, c.SecretFile, c.TLSCert, c.TLSKey, c.TLSCA = "10.0.0.1:6380", "secret", "cert", "key", "ca"
		c.Join = []string{"10.0.0.1:6380", "10.0.0.2:6380", "10.0.0.3:6380"}
	}
	for name, tt := range map[string]struct {
		cluster *server.Cluster
		want    string
	}{
		"none":          {nil, ""},
		"nothing set":   {&server.Cluster{}, ""},
		"one":           {&base, ""},
		"defaults":      {&server.Cluster{Addr: "127.0.0.1:6380", Lanes: 8, LaneSize: 1 << 30, Timeout: 15 * time.Second}, ""},
		"alone":         {with(func(c *server.Cluster) { c.Join = nil }), "3 or 5"},
		"two":           {with(func(c *server.Cluster) { c.Join = c.Join[:2] }), "3 or 5"},
		"secured":       {with(secured), ""},
		"secret alone":  {with(func(c *server.Cluster) { secured(c); c.TLSCert, c.TLSKey, c.TLSCA = "", "", "" }), ""},
		"elsewhere":     {with(func(c *server.Cluster) { c.NATS, c.Addr, c.Join = "nats://n:4222", "10.0.0.1:6380", nil }), ""},
		"nats and join": {with(func(c *server.Cluster) { c.NATS = "nats://n:4222" }), "give one of them"},
		"small lanes":   {with(func(c *server.Cluster) { c.LaneSize = 1 << 20 }), "lane-size"},
		"no name":       {&server.Cluster{Join: []string{"127.0.0.1:1"}}, "name of a cluster"},
		"nats alone":    {&server.Cluster{NATS: "nats://n:4222"}, "name of a cluster"},
		"blank":         {&server.Cluster{Name: "a b"}, "letters, digits"},
		"dot":           {&server.Cluster{Name: "a.b"}, "letters, digits"},
		"long":          {&server.Cluster{Name: strings.Repeat("a", 33)}, "letters, digits"},
		"lanes":         {with(func(c *server.Cluster) { c.Lanes = 65 }), "[1, 64]"},
		"one lane":      {with(func(c *server.Cluster) { c.Lanes = 1 }), ""},
		"most lanes":    {with(func(c *server.Cluster) { c.Lanes = 64 }), ""},
		"least lanes":   {with(func(c *server.Cluster) { c.LaneSize = 16 << 20 }), ""},
		"longest name":  {with(func(c *server.Cluster) { c.Name = "azAZ09-_" + strings.Repeat("a", 24) }), ""},
		"fewer lanes":   {with(func(c *server.Cluster) { c.Lanes = -1 }), "[1, 64]"},
		"timeout":       {with(func(c *server.Cluster) { c.Timeout = -1 }), "cluster-timeout"},
		"hidden":        {with(func(c *server.Cluster) { c.HideFromClients = true }), ""},
		"join":          {with(func(c *server.Cluster) { c.Join = []string{"host"} }), "join: \"host\" is not HOST:PORT"},
		"announce":      {with(func(c *server.Cluster) { c.Announce = ":6379" }), "cluster-announce"},
		"peers":         {with(func(c *server.Cluster) { c.PeerAddr = "127.0.0.1" }), "cluster-peer-addr: \"127.0.0.1\" is not HOST:PORT"},
		"open peers":    {with(func(c *server.Cluster) { c.PeerAddr = "10.0.0.1:1" }), "needs cluster-secret-file"},
		"closed peers":  {with(func(c *server.Cluster) { secured(c); c.PeerAddr = "10.0.0.1:1" }), ""},
		"half of TLS":   {with(func(c *server.Cluster) { c.TLSCert = "cert" }), "belong together"},
		"key alone":     {with(func(c *server.Cluster) { c.TLSKey = "key" }), "belong together"},
		"CA alone":      {with(func(c *server.Cluster) { c.TLSCA = "ca" }), "belong together"},
		"open":          {with(func(c *server.Cluster) { c.Addr = "10.0.0.1:6380" }), "needs cluster-secret-file"},
		"no host":       {with(func(c *server.Cluster) { c.Addr = ":6380" }), "cluster-addr: \":6380\" is not HOST:PORT"},
		"all addresses": {with(func(c *server.Cluster) { c.Addr = "0.0.0.0:6380" }), "no address that others can reach"},
		"no port":       {with(func(c *server.Cluster) { c.Addr = "127.0.0.1:0" }), "is not HOST:PORT"},
		"last port":     {with(func(c *server.Cluster) { c.Addr = "127.0.0.1:65535" }), ""},
		"beyond it":     {with(func(c *server.Cluster) { c.Addr = "127.0.0.1:65536" }), "is not HOST:PORT"},
		"four":          {with(func(c *server.Cluster) { c.Join = append(c.Join[:3:3], "127.0.0.1:4") }), "3 or 5"},
		"five":          {with(func(c *server.Cluster) { c.Join = append(c.Join[:3:3], "127.0.0.1:4", "127.0.0.1:5") }), ""},
		"twice":         {with(func(c *server.Cluster) { c.Join = []string{"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:2"} }), "is there twice"},
		"no secret":     {with(func(c *server.Cluster) { secured(c); c.SecretFile = "" }), "needs cluster-secret-file"},
		"far node":      {with(func(c *server.Cluster) { c.Join = []string{"127.0.0.1:1", "127.0.0.1:2", "10.0.0.3:6380"} }), "needs cluster-secret-file"},
	} {
		err := server.Config{Dir: "data", Cluster: tt.cluster}.Check()
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v, want that it names %s", name, err, tt.want)
		}
	}
	if err := (server.Config{Cluster: &base}).Check(); err == nil || !strings.Contains(err.Error(), "dir") {
		t.Errorf("without a folder: %v", err)
	}
	if base.Addr != "" || base.Lanes != 0 {
		t.Error("Check has changed the configuration of its caller")
	}
}

// TestClusterSettings asks that a setting of a cluster changes no copy of its
// configuration.
func TestClusterSettings(t *testing.T) {
	first := server.Config{Cluster: &server.Cluster{Name: "c1"}}
	second := first
	for _, s := range server.Settings() {
		if s.Name == "cluster" {
			if err := s.Set(&second, "c2"); err != nil {
				t.Fatal(err)
			}
			if s.Get(&first) != "c1" || s.Get(&second) != "c2" {
				t.Errorf("%q and %q", s.Get(&first), s.Get(&second))
			}
		}
	}
}
