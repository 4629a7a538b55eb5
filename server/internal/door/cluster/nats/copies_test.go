package nats

// Who has copies of the streams, and who votes, as servers report it.

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	natsd "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/bloomery/bloomery/server/internal/door/cluster"
)

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
