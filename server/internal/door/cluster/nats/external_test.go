package nats

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	natsd "github.com/nats-io/nats-server/v2/server"
)

// plainServer starts a NATS server as somebody else runs one, and returns its address.
func plainServer(t *testing.T, o *natsd.Options) string {
	t.Helper()
	o.Host, o.Port, o.NoSigs = "127.0.0.1", natsd.RANDOM_PORT, true
	if o.JetStream {
		o.StoreDir = t.TempDir()
	}
	s, err := natsd.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(patience) {
		t.Fatal("the server does not start")
	}
	return s.Addr().String()
}

// TestExternalRefused asks that a NATS server that cannot keep the streams is refused,
// and that the error says why.
func TestExternalRefused(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a server without JetStream may be starting: it is asked for 10 seconds")
	}
	user := func(allow ...string) []*natsd.User {
		p := &natsd.Permissions{Publish: &natsd.SubjectPermission{Allow: allow}, Subscribe: &natsd.SubjectPermission{Allow: []string{">"}}}
		return []*natsd.User{{Username: "u", Password: "p", Permissions: p}}
	}
	for name, tt := range map[string]struct {
		options natsd.Options
		user    string
		want    string
	}{
		"one server":        {natsd.Options{JetStream: true}, "", "three servers or more"},
		"no JetStream":      {natsd.Options{}, "", "switch JetStream on"},
		"short messages":    {natsd.Options{JetStream: true, MaxPayload: 32 << 10}, "", "max_payload is 32768 bytes"},
		"wrong password":    {natsd.Options{JetStream: true, Users: user(">")}, "u:wrong@", "Authorization Violation"},
		"no right to write": {natsd.Options{JetStream: true, Users: user("bloomery.>")}, "u:p@", "to publish to $JS.API.>, $JS.FC.>, bloomery.c.>, _INBOX.>, and to subscribe to bloomery.c.>, _INBOX.>"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr := plainServer(t, &tt.options)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			l, err := Open(ctx, Config{Cluster: "c", URL: "nats://" + tt.user + addr, Dir: t.TempDir()})
			if err == nil {
				_ = l.Close()
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "wrong@") {
				t.Errorf("error %v, want one that says: %s", err, tt.want)
			}
			if errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("it waits for ever: %v", err)
			}
		})
	}
}

// lines is a log that a test reads.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// guest adds a user to the server of a node, who may do what the user of a NATS cluster
// of somebody else has to be allowed, and returns the address to connect to.
func guest(t *testing.T, l *Log, cluster string) string {
	t.Helper()
	o, err := options(&l.config, l.name, true)
	if err != nil {
		t.Fatal(err)
	}
	publish, subscribe := (&Log{config: Config{Cluster: cluster}}).rights()
	o.Users = append(o.Users, &natsd.User{Username: "guest", Password: "of tests", Permissions: &natsd.Permissions{
		Publish: &natsd.SubjectPermission{Allow: publish}, Subscribe: &natsd.SubjectPermission{Allow: subscribe},
	}})
	if err := l.server.Load().ReloadOptions(o); err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(l.server.Load().ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	at.User = url.UserPassword("guest", "of tests")
	return at.String()
}

// testExternal uses the servers of other nodes as a NATS cluster of somebody else, with
// the rights that the documentation names and no others.
func testExternal(t *testing.T, logs []*Log) {
	t.Helper()
	var said lines
	nodes := make([]Config, 2)
	for i := range nodes {
		nodes[i] = Config{Cluster: "external", URL: guest(t, logs[i], "external"), Dir: t.TempDir(), LaneBytes: 8 << 20, Log: slog.New(slog.NewTextHandler(&said, nil))}
	}
	others := openAll(t, nodes)
	for _, l := range others {
		if err := l.Lanes(1, true); err != nil {
			t.Fatal(err)
		}
		if l.store.Load() || l.Leads() {
			t.Error("a node that uses a NATS cluster of others keeps streams")
		}
	}
	for i := range 5 {
		publish(t, others[i%2], 1, fmt.Sprint("message", i))
	}
	for range 20 { // enough for flow control
		publish(t, others[0], 1, strings.Repeat("x", 128<<10))
	}
	_, last := head(t, others[0], 1)
	for _, l := range others {
		h := tailOf(t, l, 1, 1)
		h.until(t, last)
		if h.msgs[0] != "message0" {
			t.Errorf("the first message is %q", h.msgs[0])
		}
	}
	if b, err := others[1].Read(1, 2); string(b) != "message1" || err != nil {
		t.Errorf("Read = %q, %v", b, err)
	}
	if err := others[1].Purge(1, 3); err != nil {
		t.Error(err)
	}
	testPeers(t, []*Log{others[0], others[1], others[0]})
	info, err := others[0].js.StreamInfo(others[0].stream(1))
	if err != nil || info.Config.Replicas != replicas {
		t.Errorf("streams have %+v, %v", info, err)
	}
	if text := said.String(); !strings.Contains(text, "as durable as that NATS cluster") || strings.Contains(text, logs[0].config.token) {
		t.Errorf("the log says:\n%s", text)
	}
	for i, l := range others {
		if denied := l.denied.Load(); denied != nil {
			t.Errorf("node %d is denied something: %v", i+1, *denied)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestRightsAreDocumented asks that the documentation has the rights that a user needs.
func TestRightsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../../../docs/cluster.md")
	if err != nil {
		t.Fatal(err)
	}
	quoted := func(rights []string) string { return `["` + strings.Join(rights, `", "`) + `"]` }
	publish, subscribe := (&Log{config: Config{Cluster: "c1"}}).rights()
	for _, want := range []string{"publish: " + quoted(publish), "subscribe: " + quoted(subscribe)} {
		if !strings.Contains(string(page), want) {
			t.Errorf("docs/cluster.md does not have %s", want)
		}
	}
}

// TestRedacted asks that no address in a log has a password or a token.
func TestRedacted(t *testing.T) {
	for in, want := range map[string]string{
		"nats://a:4222":                   "nats://a:4222",
		"nats://u:p@a:4222":               "nats://a:4222",
		"nats://token@a:4222":             "nats://a:4222",
		"nats://t1@a:1,tls://u:p@b:2":     "nats://a:1,tls://b:2",
		"nats://t1@a:1, nats://u:%zz@b:2": "(address)",
	} {
		if got := redactURL(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
