package nats

// What goes over a connection, with a NATS server that keeps nothing: what JetStream
// would answer comes from the tests.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	natsd "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/bloomery/bloomery/server/internal/door/cluster"
)

// wired returns a log on a server without streams, and a connection of somebody else.
func wired(t *testing.T) (*Log, *nats.Conn) {
	t.Helper()
	addr := plainServer(t, &natsd.Options{})
	l := external(&jetStream{})
	for _, conn := range []**nats.Conn{&l.conn, &l.sys} {
		var err error
		if *conn, err = nats.Connect("nats://"+addr, connectOptions(&l.config)...); err != nil {
			t.Fatal(err)
		}
		t.Cleanup((*conn).Close)
	}
	other, err := nats.Connect("nats://" + addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(other.Close)
	return l, other
}

// serve answers a subject on a connection with what a function returns.
func serve(t *testing.T, conn *nats.Conn, subject string, answer func(m *nats.Msg) any) {
	t.Helper()
	_, err := conn.Subscribe(subject, func(m *nats.Msg) {
		b, err := json.Marshal(answer(m))
		if err == nil {
			err = m.Respond(b)
		}
		if err != nil {
			t.Error(err)
		}
	})
	if err == nil {
		err = conn.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// soon receives from a channel, and ends the test if nothing comes.
func soon[T any](t *testing.T, from <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(patience):
		t.Fatal("nothing comes")
	}
	return v
}

// TestOverAServer asks what a log and other nodes hear of each other through a server.
func TestOverAServer(t *testing.T) {
	t.Parallel()
	l, other := wired(t)
	t.Run("publications", func(t *testing.T) { testPublications(t, l, other) })
	t.Run("questions", func(t *testing.T) { testQuestions(t, l, other) })
	t.Run("questions of one that stops", func(t *testing.T) { testStopping(t, l, other) })
	t.Run("removals", func(t *testing.T) { testRemovals(t, l, other) })
	t.Run("copies", func(t *testing.T) { testCopies(t, l, other) })
	t.Run("servers", func(t *testing.T) { testServers(t, l, other) })
}

func testPublications(t *testing.T, l *Log, other *nats.Conn) {
	if err := l.acks.begin(l); err != nil {
		t.Fatal(err)
	}
	serve(t, other, l.laneSubject(0), func(m *nats.Msg) any {
		if string(m.Data) == "bad" {
			return map[string]any{"error": map[string]any{"err_code": 10077, "description": "no room"}}
		}
		return map[string]any{"stream": "s", "seq": 1}
	})
	for text, want := range map[string]error{"good": nil, "bad": cluster.ErrFull} {
		done := make(chan error, 2)
		l.Publish(0, []byte(text), func(err error) { done <- err })
		if err := soon(t, done); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", text, err, want)
		}
	}
	closed, _ := nats.Connect("nats://" + l.conn.ConnectedAddr())
	closed.Close()
	broken := &Log{config: l.config, conn: closed, acks: acks{open: map[uint64]sent{}}}
	done := make(chan error, 1)
	broken.Publish(0, nil, func(err error) { done <- err })
	if err := soon(t, done); !errors.Is(err, nats.ErrConnectionClosed) {
		t.Errorf("a publication without a connection: %v", err)
	}
	if err := (&acks{}).begin(broken); err == nil {
		t.Error("answers are expected without a connection")
	}
}

func testQuestions(t *testing.T, l *Log, other *nats.Conn) {
	asker := &Log{config: l.config, conn: other}
	beats := make(chan string, 8)
	hear := func(b []byte) { beats <- string(b) }
	stop, err := l.Serve(2, hear, bytes.ToUpper)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if b, err := asker.Ask(ctx, 2, []byte("question")); err != nil || string(b) != "QUESTION" {
		t.Errorf("answer %q, %v", b, err)
	}
	if _, err := asker.Ask(ctx, 3, nil); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("a node that is not there: %v", err)
	}
	asker.Announce([]byte("beat"))
	if got := soon(t, beats); got != "beat" {
		t.Errorf("heard %q", got)
	}
	stop()
	if err := l.conn.Flush(); err != nil { // the server knows that it has stopped
		t.Fatal(err)
	}
	if _, err := asker.Ask(ctx, 2, nil); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("a node that has stopped: %v", err)
	}
	if stop, err = l.Serve(0, hear, bytes.ToUpper); err != nil {
		t.Fatal(err)
	}
	defer stop()
	if _, err := asker.Ask(ctx, 0, nil); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("a node without a number: %v", err)
	}
	asker.Announce([]byte("again"))
	if got := soon(t, beats); got != "again" {
		t.Errorf("heard %q", got)
	}
}

// testStopping has a node stop while all its answers are under way: it waits for them,
// and the question behind them is not answered any more.
func testStopping(t *testing.T, l *Log, other *nats.Conn) {
	var asked atomic.Int32
	begun, release := make(chan struct{}, 32), make(chan struct{})
	stop, err := l.Serve(5, func([]byte) {}, func([]byte) []byte {
		asked.Add(1)
		begun <- struct{}{}
		<-release
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	subject, subs := l.subject("ask", "5"), l.conn.NumSubscriptions()
	for range 17 {
		if err := other.PublishRequest(subject, "nobody", nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := other.Flush(); err != nil {
		t.Fatal(err)
	}
	for range 16 {
		soon(t, begun)
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		stop()
	}()
	for end := time.Now().Add(patience); l.conn.NumSubscriptions() > subs-2 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	select {
	case <-stopped:
		t.Error("it has stopped while answers are under way")
	default:
	}
	close(release)
	if soon(t, stopped); asked.Load() != 16 {
		t.Errorf("%d questions were answered, want 16", asked.Load())
	}
}

// testRemovals asks what nodes are answered who ask whether they were removed.
func testRemovals(t *testing.T, l *Log, other *nats.Conn) {
	if err := errors.Join(l.answerRemovals(l.conn), l.conn.Flush()); err != nil {
		t.Fatal(err)
	}
	ask := func(server, want string) {
		t.Helper()
		if m, err := other.Request(l.subject("removed"), []byte(server), patience); err != nil || string(m.Data) != want {
			t.Errorf("%s is answered %+v, %v, want %s", server, m, err, want)
		}
	}
	ask("gone", answerUnsure)
	l.Judge(func(server string) (left, known bool) { return server == "gone", server != "strange" })
	ask("gone", answerRemoved)
	ask("here", answerMember)
	ask("strange", answerUnsure)
}

// TestConnect asks which servers of others are used, and that what they do not allow is
// noted.
func TestConnect(t *testing.T) {
	t.Parallel()
	users := []*natsd.User{{Username: "u", Password: "p", Permissions: &natsd.Permissions{Publish: &natsd.SubjectPermission{Deny: []string{"$JS.>"}}}}}
	addr, short := plainServer(t, &natsd.Options{Users: users}), plainServer(t, &natsd.Options{MaxPayload: minPayload - 1})
	for url, want := range map[string]string{
		"nats://u:p@" + addr:     "",
		"nats://u:wrong@" + addr: "Authorization Violation",
		"nats://" + short:        "max_payload is 1048575",
	} {
		l := external(nil)
		l.config.URL = url
		err := l.connect()
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "wrong")) {
			t.Errorf("error %v, want %q", err, want)
		}
		if l.conn != nil {
			defer l.conn.Close()
		}
		if err != nil {
			continue
		}
		if l.MaxMessage() != minPayload {
			t.Errorf("messages may have %d bytes", l.MaxMessage())
		}
		if err := errors.Join(l.conn.Publish("bloomery.c.x", nil), l.conn.Flush()); err != nil || l.denied.Load() != nil {
			t.Errorf("what is allowed: %v, %v", err, l.denied.Load())
		}
		if err := errors.Join(l.conn.Publish("$JS.API.INFO", nil), l.conn.Flush()); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(patience); l.denied.Load() == nil && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
		if denied := l.denied.Load(); denied == nil || !errors.Is(*denied, nats.ErrPermissionViolation) {
			t.Errorf("what is not allowed: %v", denied)
		}
	}
}
