package cluster

// Nodes and their processes: numbers, sessions, leaving, and what a process that died has
// left behind.

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/door/cluster/messages"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestOneBirth starts nodes at once: one cluster comes of it, and every node has a
// number of its own.
func TestOneBirth(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := memlog.New(5, memlog.Faults{Delay: 50 * time.Millisecond, Twice: 0.5, Unacked: 0.5})
		doors := make([]*Door, 5)
		done := make(chan struct{})
		for i := range doors {
			go func() {
				doors[i] = open(t, log, Config{Lanes: i + 1, Name: fmt.Sprint("n", i)})
				done <- struct{}{}
			}()
		}
		for range doors {
			<-done
		}
		numbers := map[uint32]bool{}
		for _, d := range doors {
			numbers[d.number.Load()] = true
			if d.id.Load() != doors[0].id.Load() || len(d.all()) != len(doors[0].all()) {
				t.Errorf("node %d is in a cluster of its own", d.number.Load())
			}
		}
		if len(numbers) != len(doors) || numbers[0] {
			t.Errorf("numbers are %v", numbers)
		}
	})
}

// TestSuperseded asks that of two processes of one node the later one serves.
func TestSuperseded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := memlog.New(1, memlog.Faults{Delay: time.Millisecond})
		old := open(t, log, Config{})
		if err := do(old, set("old")); err != nil {
			t.Fatal(err)
		}
		later := open(t, log, Config{Files: folderOf(old)})
		synctest.Wait()
		time.Sleep(time.Second)
		select {
		case <-old.Failed():
		default:
			t.Error("the old process goes on")
		}
		if err := do(old, set("late")); !errors.Is(err, door.ErrDown) || !errors.Is(old.Serving(), ErrSuperseded) {
			t.Errorf("a write to the old process: %v, it serves: %v", err, old.Serving())
		}
		if !has(later, "old") || has(later, "late") {
			t.Error("the new process has other names")
		}
	})
}

// TestFenced asks that a message of an old session that comes late changes nothing: in
// the catalogue from the new session on, in another lane from its first message on.
func TestFenced(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := memlog.New(1, memlog.Faults{})
		d := open(t, log, Config{})
		n, id := d.number.Load(), d.id.Load()
		session := d.session.Load()
		message := func(name string) []byte {
			r := set(name).Record
			h := messages.Header{Cluster: id, Node: n, Session: session, Counter: 1000}
			return messages.AppendSum(store.AppendRecord(messages.AppendHeader(nil, &h), &r))
		}
		log.Append(0, message("in time"))
		d2 := open(t, log, Config{Files: folderOf(d)})
		log.Append(0, message("late"))
		stranger := messages.Header{Cluster: id + 1, Node: n, Session: d2.session.Load(), Counter: 5}
		log.Append(0, messages.AppendSum(store.AppendRecord(messages.AppendHeader(nil, &stranger), &set("foreign").Record)))
		time.Sleep(time.Second)
		if !has(d2, "in time") || has(d2, "late") || has(d2, "foreign") {
			t.Errorf("in time: %v, late: %v, of another cluster: %v", has(d2, "in time"), has(d2, "late"), has(d2, "foreign"))
		}
		if err := do(d2, set("own")); err != nil {
			t.Error(err)
		}
	})
}

// TestRemoved asks that a node that was removed stops, and does not come back.
func TestRemoved(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := memlog.New(1, memlog.Faults{})
		a, b := open(t, log, Config{}), open(t, log, Config{})
		leave := &door.Op{Record: store.Record{Body: &store.Leave{Node: uint64(b.number.Load())}}}
		if err := do(a, leave); err != nil {
			t.Fatal(err)
		}
		<-b.Failed()
		if err := b.Serving(); !errors.Is(err, ErrRemoved) {
			t.Errorf("Serving = %v", err)
		}
		if _, err := tryOpen(t, log, Config{Files: folderOf(b)}); !errors.Is(err, ErrRemoved) {
			t.Errorf("a start of a node that was removed: %v", err)
		}
		if c := open(t, log, Config{}); c.number.Load() != 3 {
			t.Errorf("it comes back as %d, want 3", c.number.Load())
		}
	})
}

// TestMembers removes a node, and raises the level when all others can follow.
func TestMembers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log, m := memlog.New(1, memlog.Faults{}), &memlog.Peers{}
		a, b, c := open(t, log, Config{Peers: m}), open(t, log, Config{Peers: m}), open(t, log, Config{Peers: m})
		time.Sleep(2 * time.Second)
		if level, err := a.Upgrade(); err != nil || level != Level || b.state.Roster().Level > Level {
			t.Errorf("Upgrade = %d, %v", level, err)
		}
		if level, err := a.Upgrade(); err != nil || level != Level {
			t.Errorf("Upgrade again = %d, %v", level, err)
		}
		_ = c.Close()
		time.Sleep(2 * liveFor)
		if _, err := a.Upgrade(); err == nil || !strings.Contains(err.Error(), "node 3") {
			t.Errorf("Upgrade without node 3: %v", err)
		}
		if err := a.Remove(1); !errors.Is(err, errSelf) {
			t.Errorf("Remove of itself: %v", err)
		}
		if err := a.Remove(9); !errors.Is(err, errNobody) {
			t.Errorf("Remove of nobody: %v", err)
		}
		if err := a.Remove(3); err != nil {
			t.Error(err)
		}
		if _, err := a.Upgrade(); err != nil {
			t.Errorf("Upgrade without a node that was removed: %v", err)
		}
	})
}

// TestLeftWithoutAName asks that a filter whose node has died before it had a name is
// removed when the node comes back.
func TestLeftWithoutAName(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := memlog.New(1, memlog.Faults{})
		a, b := open(t, log, Config{}), open(t, log, Config{})
		stage := &door.Op{Record: store.Record{Body: &store.Stage{As: store.OpFilterLoad, Header: contents.AppendPlan(nil, &contents.Plan{})}}}
		if err := do(a, stage); err != nil {
			t.Fatal(err)
		}
		id := stage.Result.Entry.ID
		_ = a.Close()
		time.Sleep(time.Second)
		if b.state.Names.ByID(id) == nil {
			t.Error("it is gone before its node has come back")
		}
		a = open(t, log, Config{Files: folderOf(a)})
		time.Sleep(time.Second)
		if a.state.Names.ByID(id) != nil || b.state.Names.ByID(id) != nil || b.state.Bytes() != 0 {
			t.Errorf("it is left, with %d bytes", b.state.Bytes())
		}
	})
}
