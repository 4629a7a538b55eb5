package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/status"
)

// hall is where nodes of a test hear each other.
type hall struct {
	mu    sync.Mutex
	nodes map[uint32]*attendee
}

// attendee is a node at a hall. It is Peers.
type attendee struct {
	m      *hall
	deaf   bool
	number uint32
	beat   func([]byte)
	answer func([]byte) []byte
}

func (m *hall) peer() *attendee { return &attendee{m: m} }

func (a *attendee) Announce(b []byte) {
	a.m.mu.Lock()
	defer a.m.mu.Unlock()
	for _, other := range a.m.nodes {
		if other != a && !other.deaf && !a.deaf {
			go other.beat(b)
		}
	}
}

func (a *attendee) Ask(_ context.Context, node uint32, q []byte) ([]byte, error) {
	a.m.mu.Lock()
	other := a.m.nodes[node]
	a.m.mu.Unlock()
	if other == nil {
		return nil, errors.New("no such node")
	}
	return other.answer(q), nil
}

func (a *attendee) Serve(node uint32, beat func([]byte), answer func([]byte) []byte) (func(), error) {
	a.m.mu.Lock()
	defer a.m.mu.Unlock()
	if a.m.nodes == nil {
		a.m.nodes = map[uint32]*attendee{}
	}
	a.number, a.beat, a.answer = node, beat, answer
	a.m.nodes[node] = a
	return func() {
		a.m.mu.Lock()
		defer a.m.mu.Unlock()
		delete(a.m.nodes, node)
	}, nil
}

// TestDecider asks that one of several nodes decides, another one when it is not heard
// of, and that others are patient.
func TestDecider(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log, m := memlog.New(1, memlog.Faults{}), &hall{}
		var doors []*Door
		var peers []*attendee
		for range 3 {
			p := m.peer()
			peers = append(peers, p)
			doors = append(doors, open(t, log, Config{Peers: p, Digest: func() uint64 { return 5 }}))
		}
		time.Sleep(3 * time.Second)
		for i, d := range doors {
			if d.Decides() != (i == 0) || d.Cluster().Decider != 1 || (d.Grace() == 0) != (i == 0) {
				t.Errorf("node %d: decides %v, decider %d, grace %v", i+1, d.Decides(), d.Cluster().Decider, d.Grace())
			}
			if c := d.Cluster(); c.Alive() != 3 || len(c.Problems) != 0 || c.Lag != 0 {
				t.Errorf("node %d sees %+v", i+1, c)
			}
		}
		m.mu.Lock()
		peers[0].deaf = true
		m.mu.Unlock()
		time.Sleep(2 * liveFor)
		if !doors[1].Decides() || doors[2].Decides() {
			t.Errorf("without node 1: node 2 decides: %v, node 3: %v", doors[1].Decides(), doors[2].Decides())
		}
		if c := doors[1].Cluster(); c.Alive() != 2 || !strings.Contains(fmt.Sprint(c.Problems), "node 1") {
			t.Errorf("without node 1, node 2 sees %+v", c)
		}
	})
}

// TestAwaited asks that a node that has just started calls no other one down: it is
// awaited until it is heard of, or until there was time enough.
func TestAwaited(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log, m := memlog.New(1, memlog.Faults{}), &hall{}
		first, second := open(t, log, Config{Peers: m.peer()}), open(t, log, Config{Peers: m.peer()})
		_ = second.Close()
		time.Sleep(beatEvery / 2) // between two beats of the first
		d := open(t, log, Config{Peers: m.peer()})
		look := func() (awaited, live string, problems []status.Problem) {
			c := d.Cluster()
			for i := range c.Nodes {
				awaited += map[bool]string{true: "1", false: "0"}[c.Nodes[i].Awaited]
				live += map[bool]string{true: "1", false: "0"}[c.Nodes[i].Live]
			}
			return awaited, live, c.Problems
		}
		if awaited, live, problems := look(); awaited != "110" || live != "001" || len(problems) > 0 {
			t.Errorf("at first: awaited %s, live %s, %q", awaited, live, problems)
		}
		if _, err := d.Upgrade(); err == nil || !strings.Contains(err.Error(), "node 1 () has not been heard from yet") {
			t.Errorf("Upgrade at first: %v", err)
		}
		time.Sleep(beatEvery)
		if awaited, live, problems := look(); awaited != "010" || live != "101" || len(problems) > 0 {
			t.Errorf("after a beat: awaited %s, live %s, %q", awaited, live, problems)
		}
		time.Sleep(liveFor)
		if awaited, live, problems := look(); awaited != "000" || live != "101" || len(problems) != 1 || !strings.Contains(problems[0].Text, "node 2 () is down") {
			t.Errorf("after %v: awaited %s, live %s, %q", liveFor, awaited, live, problems)
		}
		_ = first.Close()
		time.Sleep(liveFor + beatEvery)
		if awaited, live, problems := look(); awaited != "000" || live != "001" || len(problems) != 2 {
			t.Errorf("without the first: awaited %s, live %s, %q", awaited, live, problems)
		}
	})
}

// TestClocks asks that a node whose clock is wrong says so, and takes no writes if it
// is very wrong.
func TestClocks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log, m := memlog.New(1, memlog.Faults{}), &hall{}
		var mu sync.Mutex
		skew := time.Duration(0)
		clock := func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return time.Now().Add(skew)
		}
		a := open(t, log, Config{Peers: m.peer()})
		b := open(t, log, Config{Peers: m.peer()})
		c := open(t, log, Config{Peers: m.peer(), Clock: clock, Digest: func() uint64 { return 1 }})
		for _, v := range []struct {
			skew   time.Duration
			warns  bool
			refuse bool
		}{{0, false, false}, {time.Second, true, false}, {-time.Minute, true, true}, {0, false, false}} {
			mu.Lock()
			skew = v.skew
			mu.Unlock()
			time.Sleep(3 * time.Second)
			if err := c.Refuses(); errors.Is(err, door.ErrDown) != v.refuse {
				t.Errorf("a clock that is wrong by %v: %v", v.skew, err)
			}
			if a.Refuses() != nil || b.Refuses() != nil {
				t.Error("a node whose clock is right refuses")
			}
			if got := strings.Contains(fmt.Sprint(a.Cluster().Problems), "clock of node 3"); got != v.warns {
				t.Errorf("a clock that is wrong by %v: problems %q", v.skew, a.Cluster().Problems)
			}
		}
		if !strings.Contains(fmt.Sprint(a.Cluster().Problems), "node 3 has other settings") {
			t.Errorf("problems are %q", a.Cluster().Problems)
		}
	})
}

// TestClockThatWasSet asks that a node whose clock was set refuses writes at once, not
// when it hears of others again, and that it then removes nothing that is not due by
// the clocks of most others.
func TestClockThatWasSet(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log, m := memlog.New(1, memlog.Faults{}), &hall{}
		var skew atomic.Int64
		clock := func() time.Time { return time.Now().Add(time.Duration(skew.Load())) }
		a := open(t, log, Config{Peers: m.peer(), Clock: clock})
		b := open(t, log, Config{Peers: m.peer()})
		open(t, log, Config{Peers: m.peer()})
		time.Sleep(3 * time.Second)
		if !a.Decides() || a.Grace() != 0 || b.Grace() != grace {
			t.Fatalf("grace is %v at node 1, which decides: %v, and %v at node 2", a.Grace(), a.Decides(), b.Grace())
		}
		for _, v := range []struct{ skew, least time.Duration }{{48 * time.Hour, 47 * time.Hour}, {2 * time.Second, time.Second}, {-48 * time.Hour, 0}, {0, 0}} {
			skew.Store(int64(v.skew))
			if err := a.Refuses(); errors.Is(err, door.ErrDown) != (v.skew.Abs() > refuseSkew) {
				t.Errorf("a clock that was set %v ahead: %v", v.skew, err)
			}
			if got := a.Grace(); got < v.least || v.least == 0 && got != 0 {
				t.Errorf("a clock that was set %v ahead leaves %v to others", v.skew, got)
			}
			if b.Refuses() != nil || b.Grace() != grace {
				t.Errorf("node 2 refuses (%v), its grace is %v", b.Refuses(), b.Grace())
			}
		}
	})
}

// TestClocksOfTwo asks that of two nodes that are left of three neither convicts the other:
// both take writes and say that clocks differ, what was found before holds until a majority
// says otherwise, and a node that is set right is acquitted by the other one.
func TestClocksOfTwo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log, m := memlog.New(1, memlog.Faults{}), &hall{}
		var skew atomic.Int64
		clock := func() time.Time { return time.Now().Add(time.Duration(skew.Load())) }
		a, b := open(t, log, Config{Peers: m.peer()}), open(t, log, Config{Peers: m.peer(), Clock: clock})
		c := open(t, log, Config{Peers: m.peer()})
		jump := func(to time.Duration) {
			skew.Store(int64(to))
			time.Sleep(2 * liveFor)
		}
		look := func(when string, refuses, warns bool) {
			t.Helper()
			if got := errors.Is(b.Refuses(), door.ErrDown); got != refuses {
				t.Errorf("%s: node 2 refuses writes: %v", when, got)
			}
			if err := a.Refuses(); err != nil {
				t.Errorf("%s: node 1 refuses writes: %v", when, err)
			}
			for i, d := range []*Door{a, b} {
				if got := strings.Contains(fmt.Sprint(d.Cluster().Problems), "too few nodes are up to know"); got != warns {
					t.Errorf("%s: node %d warns: %v, %q", when, i+1, got, d.Cluster().Problems)
				}
			}
		}
		_ = c.Close()
		time.Sleep(2 * liveFor)
		jump(time.Minute)
		look("a clock is set while a node is down", false, true)
		if err := errors.Join(do(a, set("a")), do(b, set("b"))); err != nil {
			t.Errorf("writes while clocks differ: %v", err)
		}
		jump(0)
		look("the clock is right again", false, false)

		c = open(t, log, Config{Peers: m.peer(), Files: folderOf(c)})
		jump(time.Minute)
		look("a clock is set while all are up", true, false)
		_ = c.Close()
		time.Sleep(2 * liveFor)
		look("a node dies after that", true, true)
		jump(0)
		look("the clock is right again, as the other node says", false, false)
	})
}

// TestNodeMoves starts a node again at another address: every node knows it.
func TestNodeMoves(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log, m := memlog.New(1, memlog.Faults{}), &hall{}
		files := &folder.Memory{}
		other := open(t, log, Config{Peers: m.peer(), Name: "other", Addr: "other:1"})
		d := open(t, log, Config{Peers: m.peer(), Name: "n", Addr: "before:1", Files: files})
		number := d.number.Load()
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(liveFor)
		d = open(t, log, Config{Peers: m.peer(), Name: "n", Addr: "after:2", Files: files})
		time.Sleep(2 * beatEvery)
		for _, asked := range []*Door{other, d} {
			for _, n := range asked.Cluster().Nodes {
				if want := map[bool]string{true: "after:2", false: "other:1"}[n.Number == number]; n.Addr != want {
					t.Errorf("node %d sees node %d at %s, want %s", asked.number.Load(), n.Number, n.Addr, want)
				}
			}
		}
		if d.number.Load() != number {
			t.Errorf("it is node %d now, want %d", d.number.Load(), number)
		}
	})
}
