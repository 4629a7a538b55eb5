package cluster

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/door/cluster/heartbeat"
	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/peers"
	"github.com/bloomery/bloomery/server/internal/store"
)

// slowPath is peers through a log, which count their questions.
type slowPath struct {
	*memlog.Peers
	asked int
}

func (p *slowPath) Ask(context.Context, uint32, []byte) ([]byte, error) {
	p.asked++
	return []byte("through the log"), nil
}

func directNode(t *testing.T, number uint32, answer func(q *peers.Asked, to []byte) []byte) *peers.Node {
	t.Helper()
	n, err := peers.Open(peers.Config{Addr: "127.0.0.1:0", Cluster: "c1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	n.Serve(number, answer)
	return n
}

// TestAskNode asks nodes that have a connection, that have none, and one that goes away in the
// middle: only what was not sent is asked through the log.
func TestAskNode(t *testing.T) {
	began, release := make(chan struct{}), make(chan struct{})
	other := directNode(t, 2, func(q *peers.Asked, to []byte) []byte {
		if string(q.Body) == "wait" {
			began <- struct{}{}
			<-release
		}
		return append(append(to, "direct: "...), q.Body...)
	})
	log := &slowPath{}
	d, err := Open(Config{State: store.New(), Log: memlog.New(1, memlog.Faults{}).Node(ErrFull), Peers: log, Direct: directNode(t, 1, nil), Files: &folder.Memory{}})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	d.number.Store(1)
	ask := func(ctx context.Context, q string, expect int, want string) {
		t.Helper()
		if b, err := d.askNode(ctx, 2, []byte(q), expect); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v, want %q", q, b, err, want)
		}
	}
	ask(t.Context(), "unknown", 0, "through the log")
	d.know(&heartbeat.Beat{Node: 2, Peer: other.Addr()})
	for {
		if _, ok := d.config.Direct.Trip(2); ok {
			break
		}
		time.Sleep(time.Millisecond)
	}
	ask(t.Context(), "known", 0, "direct: known")
	long := bytes.Repeat([]byte("long"), 20000)
	ask(t.Context(), string(long), len(long)+8, "direct: "+string(long))
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-began; cancel() }()
	if _, err := d.askNode(ctx, 2, []byte("wait"), 0); !errors.Is(err, peers.ErrUnknown) || !errors.Is(err, context.Canceled) {
		t.Errorf("sent, and not answered: %v", err)
	}
	close(release)
	if log.asked != 1 {
		t.Errorf("%d questions went through the log, want 1", log.asked)
	}
	d.know(&heartbeat.Beat{Node: 2}) // an older release runs there now
	ask(t.Context(), "older", 0, "through the log")
}

// TestSpreadNodesCanBeAsked asks that a node which others cannot ask is none of a cluster whose
// contents are spread.
func TestSpreadNodesCanBeAsked(t *testing.T) {
	log := memlog.New(1, memlog.Faults{})
	d := openShards(t, log, Config{}, true)
	names(t, d, &store.Level{Level: store.LevelShards})
	deaf, err := peers.Open(peers.Config{Cluster: "c"})
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	d.config.Direct = deaf
	if err := d.SetCopies(2); !errors.Is(err, errUnasked) {
		t.Errorf("contents are spread over a node that cannot be asked: %v", err)
	}
	d.config.Direct = nil
	names(t, d, &store.ShardCopies{Copies: 2})
	node := log.Node(ErrFull)
	other, err := Open(Config{State: store.New(), Files: &folder.Memory{}, Log: node, Direct: deaf})
	if err != nil {
		t.Fatal(err)
	}
	other.level = store.LevelShards
	if err := begin(t, other, node); !errors.Is(err, errUnasked) {
		t.Errorf("a node that cannot be asked starts: %v", err)
	}
}
