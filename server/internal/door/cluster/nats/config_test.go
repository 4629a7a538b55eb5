package nats

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/ports"
	"github.com/bloomery/bloomery/server/internal/door/cluster"
)

// TestStreamCompared: a stream that could lose messages is refused.
func TestStreamCompared(t *testing.T) {
	l := &Log{config: Config{Cluster: "c", LaneBytes: 1 << 20}, lanes: 2}
	for lane := range 4 {
		if err := l.compare(*l.streamConfig(lane), lane); err != nil {
			t.Errorf("lane %d: %v", lane, err)
		}
	}
	for name, change := range map[string]func(*nats.StreamConfig){
		"subjects":   func(c *nats.StreamConfig) { c.Subjects = []string{"x"} },
		"memory":     func(c *nats.StreamConfig) { c.Storage = nats.MemoryStorage },
		"one copy":   func(c *nats.StreamConfig) { c.Replicas = 1 },
		"work queue": func(c *nats.StreamConfig) { c.Retention = nats.WorkQueuePolicy },
		"old go":     func(c *nats.StreamConfig) { c.Discard = nats.DiscardOld },
		"unbounded":  func(c *nats.StreamConfig) { c.MaxBytes = -1 },
		"count":      func(c *nats.StreamConfig) { c.MaxMsgs = 10 },
		"subject":    func(c *nats.StreamConfig) { c.MaxMsgsPerSubject = 10 },
		"age":        func(c *nats.StreamConfig) { c.MaxAge = time.Hour },
		"no ack":     func(c *nats.StreamConfig) { c.NoAck = true },
		"delete":     func(c *nats.StreamConfig) { c.DenyDelete = false },
		"rollup":     func(c *nats.StreamConfig) { c.AllowRollup = true },
		"sealed":     func(c *nats.StreamConfig) { c.Sealed = true },
	} {
		c := l.streamConfig(1)
		change(c)
		if err := l.compare(*c, 1); !errors.Is(err, errStream) {
			t.Errorf("%s: error %v, want %v", name, err, errStream)
		}
	}
}

// TestVerdicts: only an acknowledgement of a stream counts as one.
func TestVerdicts(t *testing.T) {
	for name, test := range map[string]struct {
		data   string
		status string
		want   error // nil: any
		ok     bool
	}{
		"stored":    {data: `{"stream":"s","seq":7}`, ok: true},
		"no leader": {status: "503", want: errNoLeader},
		"full":      {data: `{"stream":"s","error":{"code":400,"err_code":10077,"description":"maximum bytes exceeded"}}`, want: cluster.ErrFull},
		"error":     {data: `{"error":{"code":500,"err_code":1,"description":"x"}}`},
		"nothing":   {},
		"no stream": {data: `{"seq":7}`},
		"noise":     {data: `{{`},
	} {
		m := nats.NewMsg("x")
		m.Data = []byte(test.data)
		if test.status != "" {
			m.Header.Set("Status", test.status)
		}
		err := verdict(m)
		if (err == nil) != test.ok || test.want != nil && !errors.Is(err, test.want) {
			t.Errorf("%s: error %v, want %v", name, err, test.want)
		}
	}
}

// TestNodeFile: the name of a server outlives it, and damage is an error.
func TestNodeFile(t *testing.T) {
	dir := t.TempDir()
	if n, err := remembered(filepath.Join(dir, "new")); err != nil || n.Server != "" {
		t.Errorf("no folder: %+v, %v", n, err)
	}
	want := node{Cluster: "c", Server: "n1-x", Store: true, Formed: true}
	if err := keep(dir, want); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, nodeFile)); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the mode of the file is %v, %v, want 0600", info.Mode(), err)
	}
	if n, err := remembered(dir); err != nil || n != want {
		t.Errorf("read back %+v, %v, want %+v", n, err, want)
	}
	for _, text := range []string{"", "{}", `{"server":`} {
		if err := os.WriteFile(filepath.Join(dir, nodeFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := remembered(dir); !errors.Is(err, bloomery.ErrCorrupt) || !strings.Contains(err.Error(), "move the folder "+filepath.Dir(dir)+" away") {
			t.Errorf("file %q: error %v, want %v", text, err, bloomery.ErrCorrupt)
		}
	}
	if err := keep(dir, want); err != nil {
		t.Fatal(err)
	}
	addrs := ports.Free(t, 3)
	if _, err := Open(t.Context(), Config{Cluster: "other", Addr: addrs[0], Join: addrs, Dir: dir}); err == nil || !strings.Contains(err.Error(), "belongs to the cluster c") {
		t.Errorf("the folder of another cluster: error %v", err)
	}
}

// TestSecretTLS: nodes with one secret trust each other, and nobody else.
func TestSecretTLS(t *testing.T) {
	for _, test := range []struct {
		theirs string
		ok     bool
	}{{secret, true}, {secret + "!", false}} {
		ours, err := secretTLS(secret)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := secretTLS(test.theirs)
		if err != nil {
			t.Fatal(err)
		}
		a, b := connected(t)
		results := make(chan error, 2)
		go func() { results <- exchange(tls.Server(a, ours)); _ = a.Close() }()
		go func() { results <- exchange(tls.Client(b, theirs)); _ = b.Close() }()
		if err := errors.Join(<-results, <-results); (err == nil) != test.ok {
			t.Errorf("secret %q and %q: error %v, want trust %v", secret, test.theirs, err, test.ok)
		}
	}
}

// TestPortInUse: a port that is taken is an error, not an exit.
func TestPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	addrs := append(ports.Free(t, 2), l.Addr().String())
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := Open(ctx, Config{Cluster: "c", Addr: addrs[2], Join: addrs, Dir: t.TempDir()}); err == nil || ctx.Err() != nil {
		t.Errorf("error %v, want one of the address", err)
	}
}

// connected returns the two ends of a connection.
func connected(t *testing.T) (a, b net.Conn) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if b, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if a, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(patience)
	if err := errors.Join(a.SetDeadline(deadline), b.SetDeadline(deadline)); err != nil {
		t.Fatal(err)
	}
	return a, b
}

// exchange writes a byte and reads one: a handshake alone may succeed on the side
// that is refused.
func exchange(c *tls.Conn) error {
	if err := c.Handshake(); err != nil {
		return err
	}
	if _, err := c.Write([]byte("x")); err != nil {
		return err
	}
	_, err := c.Read(make([]byte, 1))
	return err
}

// TestSilentRoutes asks that servers notice within 10 s that a connection between them
// is dead: TCP alone would need as long again as the network was away.
func TestSilentRoutes(t *testing.T) {
	o, err := options(&Config{Cluster: "c", Addr: "127.0.0.1:1", Dir: t.TempDir()}, "n1", false)
	if err != nil {
		t.Fatal(err)
	}
	if d := o.Cluster.PingInterval * time.Duration(o.Cluster.MaxPingsOut+1); d < 5*time.Second || d > 10*time.Second {
		t.Errorf("a dead connection is noticed after %v", d)
	}
}

// TestStuckServer asks that nobody waits for a server that never stops.
func TestStuckServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if err := inTime(func() { time.Sleep(stopIn / 2) }); err != nil {
			t.Errorf("a server that stops: %v", err)
		}
		never := make(chan struct{})
		defer close(never)
		if err := inTime(func() { <-never }); !errors.Is(err, errStuck) {
			t.Errorf("a server that does not stop: %v", err)
		}
	})
}
