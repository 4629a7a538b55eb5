package nats

// Small decisions about servers and what they report.

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/bloomery/bloomery/server/internal/door/cluster"
)

// TestSecrets asks that a short secret is refused, and none is not.
func TestSecrets(t *testing.T) {
	for length, ok := range map[int]bool{0: true, 1: false, minSecret - 1: false, minSecret: true} {
		c, err := Config{Secret: strings.Repeat("s", length)}.complete()
		if (err == nil) != ok || c.Log == nil || c.token == "" {
			t.Errorf("a secret of %d characters: %v, completed: %+v", length, err, c)
		}
	}
}

// TestLogsRepeatSometimes asks that what goes wrong for long is logged every now and then.
func TestLogsRepeatSometimes(t *testing.T) {
	l, now := new(logs), time.Now()
	if l.often("text", now) || !l.often("text", now.Add(20*time.Second)) || l.often("text", now.Add(40*time.Second)) {
		t.Error("a text is logged again within 20 s, or not within 40 s")
	}
}

// TestWatch asks what a log learns of its lanes now and then: who leads them, and whose
// copies are missing.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		asked, leads := 0, "a"
		l := external(nil)
		l.js = &jetStream{info: func(name string, _ time.Duration) (*nats.StreamInfo, error) {
			mu.Lock()
			defer mu.Unlock()
			asked++
			switch {
			case name == l.stream(1):
				return nil, nats.ErrTimeout
			case name == l.stream(2):
				return &nats.StreamInfo{}, nil // of a single server
			}
			return &nats.StreamInfo{Cluster: &nats.ClusterInfo{Leader: leads, Replicas: []*nats.PeerInfo{{Name: "gone", Offline: true}}}}, nil
		}}
		l.leaders, l.lanes = []leader{{}, {server: "old"}, {server: "old"}}, 1
		l.spawn(l.watch)
		synctest.Wait()
		if want := []leader{{server: "a"}, {lost: true}, {}}; !slices.Equal(l.leaders, want) || len(l.Problems()) != 1 {
			t.Errorf("leaders %v, want %v; problems %q", l.leaders, want, l.Problems())
		}
		mu.Lock()
		leads = "b"
		mu.Unlock()
		time.Sleep(watchEvery)
		if synctest.Wait(); l.leaders[0].server != "b" || asked != 6 {
			t.Errorf("leaders %v after %d questions", l.leaders, asked)
		}
		l.mu.Lock()
		l.closing = true
		l.mu.Unlock()
		time.Sleep(watchEvery)
		if synctest.Wait(); asked != 7 {
			t.Errorf("%d questions, one of them of a log that is closed", asked)
		}
		l.wg.Wait()
		l.closing = false
		l.spawn(l.watch)
		synctest.Wait()
		close(l.ended)
		l.wg.Wait()
	})
}

// TestSilentCopies asks for how long nothing may be heard of a copy that is behind.
func TestSilentCopies(t *testing.T) {
	for active, want := range map[time.Duration]int{10 * time.Second: 0, 10*time.Second + 1: 1} {
		if got := silent([]*nats.PeerInfo{{Name: "a", Active: active}}); len(got) != want {
			t.Errorf("after %v these are missing: %v", active, got)
		}
	}
}

// TestPromoteFails asks that a node which cannot begin to keep streams says so when it is
// asked to the next time, and then tries again.
func TestPromoteFails(t *testing.T) {
	l := &Log{server: new(running), config: Config{Cluster: "c", Dir: filepath.Join(t.TempDir(), "file", "dir"), Log: slog.New(slog.DiscardHandler)}}
	if err := os.WriteFile(filepath.Dir(l.config.Dir), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := l.Promote(); err != nil {
			t.Fatal(err)
		}
		l.wg.Wait()
		if err := l.Promote(); err == nil || l.store.Load() {
			t.Errorf("it could not begin: %v, it keeps streams: %v", err, l.store.Load())
		}
		if !l.promoting.TryLock() {
			t.Fatal("nobody can try again")
		}
		l.promoting.Unlock()
	}
	l.closing = true
	if err := l.Promote(); err != nil || !l.promoting.TryLock() {
		t.Errorf("a log that is closed: %v", err)
	}
	kept := &Log{server: new(running)}
	kept.store.Store(true)
	if err := kept.Promote(); err != nil || !kept.promoting.TryLock() {
		t.Errorf("one that keeps streams already: %v", err)
	}
}

// TestVotes asks when a voter is the server with a name.
func TestVotes(t *testing.T) {
	l := &Log{}
	for _, c := range []struct {
		voter cluster.Voter
		name  string
		want  bool
	}{
		{cluster.Voter{Server: "a", ID: "x"}, "a", true},
		{cluster.Voter{ID: peerID("a")}, "a", true},
		{cluster.Voter{Server: "b", ID: peerID("b")}, "a", false},
		{cluster.Voter{}, "", false},
		{cluster.Voter{ID: peerID("")}, "", false},
	} {
		if got := l.Votes(c.voter, c.name); got != c.want {
			t.Errorf("%+v is %q: %v", c.voter, c.name, got)
		}
	}
	if id := peerID("a"); len(id) != 8 || id == peerID("b") {
		t.Errorf("id %q", id)
	}
}

// TestAddresses asks which address the name of a server stands for.
func TestAddresses(t *testing.T) {
	l := &Log{config: Config{Join: []string{"a:1", "b:1", "c:1"}, Addr: "b:1"}}
	for name, want := range map[string]string{
		"join1-x": "a:1", "join3-x": "c:1", "join0-x": "join0-x", "join4-x": "join4-x", "join-x": "join-x", "node-x": "node-x",
	} {
		if got := l.addrOf(name); got != want {
			t.Errorf("%s is at %s, want %s", name, got, want)
		}
	}
	if n := l.config.position(); n != 2 {
		t.Errorf("place %d in join, want 2", n)
	}
	if n := (&Config{Addr: "d:1", Join: l.config.Join}).position(); n != 0 {
		t.Errorf("place %d of a node that is not in join", n)
	}
}

// TestOwnReplica asks when a consumer is on the replica of this node.
func TestOwnReplica(t *testing.T) {
	l := &Log{name: "a"}
	at := func(leader string) *nats.ConsumerInfo {
		return &nats.ConsumerInfo{Cluster: &nats.ClusterInfo{Leader: leader}}
	}
	if l.owns(at("a")) || l.patience(true) != silence || l.Healthy() == nil || l.store.Load() || l.Leads() {
		t.Error("a node that keeps no streams owns a replica")
	}
	l.store.Store(true)
	if !l.owns(at("a")) || l.owns(at("b")) || l.owns(&nats.ConsumerInfo{}) {
		t.Errorf("owns %v, of another one %v, of none %v", l.owns(at("a")), l.owns(at("b")), l.owns(&nats.ConsumerInfo{}))
	}
}

// TestServerReports asks at which level reports of a server are logged, and that the last
// fatal one is why it does not start.
func TestServerReports(t *testing.T) {
	var b bytes.Buffer
	l := &logs{to: slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	if l.failed() || l.fatal() == nil {
		t.Errorf("failed %v, %v", l.failed(), l.fatal())
	}
	l.Noticef("notice %d", 1)
	l.Warnf("warning %d", 2)
	l.Errorf("error %d", 3)
	l.Errorf("error %d", 3)
	l.Debugf("debug")
	l.Tracef("trace")
	l.Warnf("Plaintext passwords detected")
	l.Fatalf("fatal %d", 4)
	if !l.failed() || l.fatal().Error() != "fatal 4" {
		t.Errorf("failed %v, %v", l.failed(), l.fatal())
	}
	var got []string
	for line := range strings.Lines(b.String()) {
		got = append(got, strings.TrimSpace(line[strings.Index(line, "level="):]))
	}
	want := []string{`level=DEBUG msg="notice 1"`, `level=INFO msg="warning 2"`, `level=WARN msg="error 3"`, `level=ERROR msg="fatal 4"`}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("logged:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestServerOptions asks that a log node syncs what it keeps and has room for all lanes,
// and that others keep nothing.
func TestServerOptions(t *testing.T) {
	join := []string{"a:1", "b:2", "c:3"}
	c := &Config{Cluster: "c", Addr: "b:2", Join: join, Secret: secret, Dir: t.TempDir(), LaneBytes: 1 << 20, token: "token"}
	for _, store := range []bool{false, true} {
		o, err := options(c, "name", store)
		if err != nil {
			t.Fatal(err)
		}
		if o.JetStream != store || o.SyncAlways != store || (o.StoreDir == c.Dir) != store || (o.JetStreamMaxStore == (MaxLanes+2)<<20) != store {
			t.Errorf("with streams %v: %+v", store, o)
		}
		if o.Host != "127.0.0.1" || o.Cluster.Host != "b" || o.Cluster.Port != 2 || o.Cluster.Password != secret || o.Cluster.TLSConfig == nil || len(o.Routes) != 3 {
			t.Errorf("it listens at %s and %s:%d, %d routes", o.Host, o.Cluster.Host, o.Cluster.Port, len(o.Routes))
		}
		if p, ok := o.Routes[0].User.Password(); !ok || p != secret || o.Routes[0].Host != "a:1" {
			t.Errorf("route %v", o.Routes[0])
		}
	}
	c.Secret = ""
	o, err := options(c, "name", false)
	if err != nil || o.Cluster.Password != "" || o.Cluster.TLSConfig != nil || o.Routes[0].User != nil {
		t.Errorf("without a secret: %v, %+v", err, o)
	}
}

// TestRetire asks that a server that was removed is remembered as such, and that one
// that is not known has nothing to remember.
func TestRetire(t *testing.T) {
	l := &Log{config: Config{Cluster: "c", Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)}}
	if err := l.Retire(); err != nil {
		t.Errorf("a node without a server: %v", err)
	}
	if n, err := remembered(l.config.Dir); err != nil || n.Removed {
		t.Errorf("it has the file %+v, %v", n, err)
	}
	n := node{Cluster: "c", Server: "s", Formed: true}
	if err := keep(l.config.Dir, n); err != nil {
		t.Fatal(err)
	}
	if got, err := l.settle(t.Context()); err != nil || got != n {
		t.Errorf("it starts as %+v, %v, want %+v", got, err, n)
	}
	if err := l.Retire(); err != nil {
		t.Fatal(err)
	}
	n.Removed = true
	if got, err := remembered(l.config.Dir); err != nil || got != n {
		t.Errorf("remembered %+v, %v, want %+v", got, err, n)
	}
	if _, err := l.settle(t.Context()); !errors.Is(err, cluster.ErrRemoved) {
		t.Errorf("it starts again: %v", err)
	}
}
