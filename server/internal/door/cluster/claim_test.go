package cluster

// Copies of a node's folder: beside the node, after it, and older than it; and starts of a
// node that was killed.

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/door/cluster/claims"
	"github.com/bloomery/bloomery/server/internal/folder"
)

// copyOf returns a machine with a copy of the folder of another.
func (m *machine) copyOf() *machine {
	c := *m
	c.Door, c.node, c.files = nil, nil, m.files.(*folder.Memory).Copy()
	return &c
}

// TestCopyBeside starts a copy of a node's folder while the node runs: it is refused, and the
// node goes on.
func TestCopyBeside(t *testing.T) {
	bubble(t, func(t *testing.T) {
		list := started(t, 3)
		list[0].fill(1)
		list[1].save()
		session := list[1].session.Load()
		for range 2 {
			c := list[1].copyOf()
			if err := c.tryStart(); !errors.Is(err, claims.ErrTaken) {
				c.kill()
				t.Fatalf("a copy of the folder of a node that runs: %v, want %v", err, claims.ErrTaken)
			}
			time.Sleep(time.Minute)
		}
		if err := errors.Join(list[1].Serving(), do(list[1].Door, set("a"))); err != nil || list[1].session.Load() != session {
			t.Errorf("the node that runs: %v", err)
		}
		equal(t, list)
	})
}

// TestCopyOfAStoppedNode starts a copy of the folder of a node that is stopped, and is not
// heard of: it is the node from then on, and the other gives way when it comes back.
func TestCopyOfAStoppedNode(t *testing.T) {
	bubble(t, func(t *testing.T) {
		list := started(t, 3)
		m := list[2]
		old := m.Door
		c := m.copyOf()
		stop := m.silence()
		time.Sleep(time.Minute)
		began := time.Now()
		c.start()
		defer c.kill()
		if took := time.Since(began); took > claims.In {
			t.Errorf("it took %v", took)
		}
		stop()
		<-old.Failed()
		if err := old.Serving(); !errors.Is(err, ErrSuperseded) {
			t.Errorf("the process that was stopped: %v", err)
		}
	})
}

// silence has nobody hear the node, which answers nothing, until the returned function is
// called.
func (m *machine) silence() (end func()) {
	m.hold(true)
	m.peers.SetDeaf(true)
	return func() {
		m.peers.SetDeaf(false)
		m.hold(false)
	}
}

// TestStartAfterKill asks that a node which was killed starts again at once, with the same
// folder, or a copy of it: at most three beats later.
func TestStartAfterKill(t *testing.T) {
	bubble(t, func(t *testing.T) {
		list := started(t, 3)
		for round, away := range []time.Duration{0, time.Millisecond, beatEvery, claims.In, time.Minute} {
			list[1].kill()
			time.Sleep(away)
			began := time.Now()
			list[1].start()
			if took := time.Since(began); took > claims.In || away > claims.In && took > 0 {
				t.Errorf("a start %v after the end of the process took %v", away, took)
			}
			list[0].fill(round)
		}
		equal(t, list)
	})
}

// TestOlderFolders starts nodes with older copies of their folders: of before a start of the
// node, and of before a snapshot. None of them serves, and each says so.
func TestOlderFolders(t *testing.T) {
	bubble(t, func(t *testing.T) {
		list := started(t, 3)
		list[0].fill(1)
		list[1].save()
		before := list[1].copyOf() // of an earlier session
		list[1].kill()
		list[1].start()
		time.Sleep(3 * beatEvery)
		between := list[1].copyOf() // of before a snapshot
		list[0].fill(2)
		list[1].save()
		time.Sleep(3 * beatEvery)
		latest := list[1].copyOf()
		list[1].kill()
		time.Sleep(time.Minute)
		for name, c := range map[string]*machine{"an earlier start": before, "an earlier snapshot": between} {
			if err := c.tryStart(); !errors.Is(err, claims.ErrOlder) {
				t.Errorf("a folder of %s: %v, want %v", name, err, claims.ErrOlder)
				c.kill()
			}
		}
		latest.start()
		defer latest.kill()
		equal(t, []*machine{list[0], list[2], latest})
	})
}

// dyingSession is a folder whose process dies at a step of writing the file of sessions.
type dyingSession struct {
	*folder.Memory
	left int
}

func (f *dyingSession) Rename(from, to string) error {
	if to == claims.SessionsName {
		if f.left--; f.left < 0 {
			return errBroken
		}
	}
	return f.Memory.Rename(from, to)
}

// TestDiesWhileItBegins has processes of a node die around the moment at which they begin a
// session: their folder is the right one for the next.
func TestDiesWhileItBegins(t *testing.T) {
	bubble(t, func(t *testing.T) {
		list := started(t, 2)
		files := list[1].files.(*folder.Memory)
		var begun []int64 // what a node that is asked may know, if it has not read the rest yet
		for range 3 {
			begun = append(begun, list[1].state.Roster().Member(list[1].number.Load()).Nonce)
			for left := range 2 { // before it asks for a session, and when it has one
				list[1].kill()
				list[1].files = &dyingSession{files, left}
				if err := list[1].tryStart(); !errors.Is(err, errBroken) {
					t.Fatalf("after %d steps: %v", left, err)
				}
			}
			list[1].files = files
			list[1].start()
		}
		equal(t, list)
		kept, err := claims.ReadSessions(files)
		for _, nonce := range begun {
			if err != nil || !slices.Contains(kept, nonce) {
				t.Errorf("the folder has begun %d, of which it knows %d, %v", begun, kept, err)
			}
		}
	})
}
