package nats

// What goes over a connection, with a NATS server that keeps nothing: what JetStream
// would answer comes from the tests.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
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

// testCopies counts copies of streams as their leaders report them, and moves them.
func testCopies(t *testing.T, l *Log, other *nats.Conn) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	peer := func(name string, current, offline, pending bool) *natsd.PeerInfo {
		return &natsd.PeerInfo{Name: name, Peer: peerID(name), Current: current, Offline: offline, Pending: pending}
	}
	good := func(name string) *natsd.PeerInfo { return peer(name, true, false, false) }
	var mu sync.Mutex
	var group *natsd.ClusterInfo
	var failure *natsd.ApiError
	var moved []string
	serve(t, other, "$JS.API.STREAM.INFO.>", func(*nats.Msg) any {
		mu.Lock()
		defer mu.Unlock()
		answer := map[string]any{"error": failure}
		if group != nil {
			answer["cluster"] = group
		}
		return answer
	})
	serve(t, other, "$JS.API.STREAM.PEER.>", func(m *nats.Msg) any {
		mu.Lock()
		defer mu.Unlock()
		moved = append(moved, strings.TrimPrefix(m.Subject, "$JS.API.STREAM.PEER.")+" "+string(m.Data))
		return natsd.ApiResponse{Error: failure}
	})
	for name, c := range map[string]struct {
		group *natsd.ClusterInfo
		want  cluster.Copies
	}{
		"whole":          {&natsd.ClusterInfo{Leader: "a", Replicas: []*natsd.PeerInfo{good("b"), good("old")}}, cluster.Copies{Streams: 1, Of: 1, Whole: 1}},
		"led by it":      {&natsd.ClusterInfo{Leader: "old", Replicas: []*natsd.PeerInfo{good("b"), good("c")}}, cluster.Copies{Streams: 1, Of: 1, Whole: 1}},
		"without it":     {&natsd.ClusterInfo{Leader: "a", Replicas: []*natsd.PeerInfo{good("b"), good("c")}}, cluster.Copies{Streams: 1, Whole: 1}},
		"two copies":     {&natsd.ClusterInfo{Leader: "a", Replicas: []*natsd.PeerInfo{good("b")}}, cluster.Copies{Streams: 1}},
		"one behind":     {&natsd.ClusterInfo{Leader: "a", Replicas: []*natsd.PeerInfo{good("b"), peer("c", false, false, false)}}, cluster.Copies{Streams: 1}},
		"one offline":    {&natsd.ClusterInfo{Leader: "a", Replicas: []*natsd.PeerInfo{good("b"), peer("c", true, true, false)}}, cluster.Copies{Streams: 1}},
		"one pending":    {&natsd.ClusterInfo{Leader: "a", Replicas: []*natsd.PeerInfo{good("b"), peer("c", true, false, true)}}, cluster.Copies{Streams: 1}},
		"a fourth comes": {&natsd.ClusterInfo{Leader: "a", Replicas: []*natsd.PeerInfo{good("b"), good("c"), peer("d", false, false, false)}}, cluster.Copies{Streams: 1}},
		"no leader":      {&natsd.ClusterInfo{Replicas: []*natsd.PeerInfo{good("b"), good("old")}}, cluster.Copies{Streams: 1, Moving: 1}},
		"moving":         {&natsd.ClusterInfo{Leader: "a", Desired: &natsd.DesiredClusterInfo{}, Replicas: []*natsd.PeerInfo{good("b"), good("old")}}, cluster.Copies{Streams: 1, Moving: 1}},
		"known by id":    {&natsd.ClusterInfo{Leader: "a", Replicas: []*natsd.PeerInfo{good("b"), {Peer: peerID("old"), Current: true}}}, cluster.Copies{Streams: 1, Of: 1, Whole: 1}},
	} {
		mu.Lock()
		group, moved = c.group, nil
		mu.Unlock()
		if got, err := l.Copies(ctx, "old"); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, c.want)
		}
		of := has(c.group, "old")
		for lives, subject := range map[bool]string{true: "EVACUATE.", false: "REMOVE."} {
			mu.Lock()
			moved = nil
			mu.Unlock()
			err := l.Move(ctx, "old", lives)
			mu.Lock()
			if err != nil || of != (len(moved) == 1) || of && !strings.HasPrefix(moved[0], subject+l.stream(0)+" ") || of && !strings.Contains(moved[0], peerID("old")) {
				t.Errorf("%s, a move of one that lives %v: %v, %v", name, lives, moved, err)
			}
			mu.Unlock()
		}
	}
	ended, end := context.WithCancel(ctx)
	end()
	if _, err := l.Copies(ended, "old"); !errors.Is(err, context.Canceled) {
		t.Errorf("copies that nobody waits for: %v", err)
	}
	for name, fail := range map[string]func(){
		"an error": func() { failure = &natsd.ApiError{Code: 500, Description: "broken"} },
		"no group": func() { group, failure = nil, nil },
	} {
		mu.Lock()
		group = &natsd.ClusterInfo{Leader: "old"}
		fail()
		mu.Unlock()
		if _, err := l.Copies(ctx, "old"); err == nil {
			t.Errorf("%s: the copies are counted", name)
		}
		if err := l.Move(ctx, "old", true); err == nil {
			t.Errorf("%s: a copy is moved", name)
		}
	}
}

// testServers asks who votes.
func testServers(t *testing.T, l *Log, other *nats.Conn) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := l.Servers(ctx); !errors.Is(err, errElsewhere) {
		t.Errorf("servers of others: %v", err)
	}
	if err := l.Dismiss(ctx, "old"); !errors.Is(err, errElsewhere) {
		t.Errorf("a server of others is removed: %v", err)
	}
	if err := l.Promote(); !errors.Is(err, errElsewhere) {
		t.Errorf("a server of others is started: %v", err)
	}
	l.server = new(running)
	defer func() { l.server = nil }()
	var mu sync.Mutex
	var meta *natsd.MetaClusterInfo
	var failure *natsd.ApiError
	var removed string
	serve(t, other, subjectMeta, func(*nats.Msg) any {
		mu.Lock()
		defer mu.Unlock()
		return map[string]any{"data": map[string]any{"meta_cluster": meta}}
	})
	serve(t, other, subjectRemove, func(m *nats.Msg) any {
		mu.Lock()
		defer mu.Unlock()
		removed = string(m.Data)
		return natsd.ApiResponse{Error: failure}
	})
	for _, none := range []*natsd.MetaClusterInfo{nil, {Name: "c"}} {
		mu.Lock()
		meta = none
		mu.Unlock()
		if list, err := l.Servers(ctx); err == nil {
			t.Errorf("without a leader: %v", list)
		}
	}
	mu.Lock()
	meta = &natsd.MetaClusterInfo{Leader: "a", Peer: "A", Replicas: []*natsd.PeerInfo{
		{Name: "a", Peer: "A"}, {Name: "b", Peer: "B", Current: true}, {Name: "c", Peer: "C", Offline: true},
	}}
	mu.Unlock()
	want := []cluster.Voter{{Server: "a", ID: "A", Current: true}, {Server: "b", ID: "B", Current: true}, {Server: "c", ID: "C", Offline: true}}
	if list, err := l.Servers(ctx); err != nil || !slices.Equal(list, want) || !slices.Equal(l.Known(), want) {
		t.Errorf("servers %+v, %v, known %+v, want %+v", list, err, l.Known(), want)
	}
	if err := l.Dismiss(ctx, "c"); err != nil || !strings.Contains(removed, peerID("c")) {
		t.Errorf("Dismiss = %v, %s", err, removed)
	}
	mu.Lock()
	failure = &natsd.ApiError{Code: 400, Description: "no such server"}
	mu.Unlock()
	if err := l.Dismiss(ctx, "c"); err == nil {
		t.Error("a server that could not be removed is")
	}
	l.closing = true
	if _, err := l.Servers(ctx); !errors.Is(err, errClosed) {
		t.Errorf("a log that is closed: %v", err)
	}
	if l.spawn(func() {}) {
		t.Error("a log that is closed runs something")
	}
	if _, err := l.Tail(0, 1, nil); !errors.Is(err, errClosed) {
		t.Errorf("a tail of a log that is closed: %v", err)
	}
	l.closing = false
	// Of two connections of the system account one is used.
	first := l.sys
	second, err := nats.Connect("nats://" + other.ConnectedAddr())
	if err != nil {
		t.Fatal(err)
	}
	if got := l.useSystem(second); got != first || !second.IsClosed() {
		t.Errorf("the second connection is used, or open: %v", second.IsClosed())
	}
	l.closing = true
	third, err := nats.Connect("nats://" + other.ConnectedAddr())
	if err != nil {
		t.Fatal(err)
	}
	l.sys = nil
	if got := l.useSystem(third); got != nil || !third.IsClosed() {
		t.Error("a log that is closed has a connection")
	}
	l.closing, l.sys = false, first
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
