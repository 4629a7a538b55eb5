package cluster

// Nodes that were paused or cut off, with and without a purge meanwhile.

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
)

// hold has the tails of a node deliver nothing, or go on.
func (m *machine) hold(hold bool) {
	for lane := range m.all() {
		m.node.Hold(lane, hold)
	}
}

// stop is what SIGSTOP and SIGCONT do: for the process, time has passed at once. What came
// meanwhile was not delivered to it.
func (m *machine) stop(t time.Duration) { m.away.Add(int64(t)) }

// purgeAll drops all messages that there are.
func (m *machine) purgeAll() {
	m.t.Helper()
	for lane := range m.all() {
		if err := m.config.Log.Purge(lane, m.log.Messages(lane)+1); err != nil {
			m.t.Fatal(err)
		}
	}
}

// TestPausedNode asks that a node which was stopped for long answers nothing before it has
// what others have acknowledged meanwhile, not even to the first reader after the pause;
// that a short pause makes no difference; and that it can be copied all the same.
func TestPausedNode(t *testing.T) {
	bubble(t, func(t *testing.T) {
		list := started(t, 3)
		m := list[2]
		m.stop(liveFor / 2)
		if err := m.Current(); err != nil {
			t.Errorf("after a short pause: %v", err)
		}
		for range 2 {
			time.Sleep(10 * time.Second)
			if err := m.Current(); err != nil {
				t.Errorf("a node that runs: %v", err)
			}
		}
		m.hold(true)
		if err := do(list[0].Door, set("meanwhile")); err != nil {
			t.Fatal(err)
		}
		m.stop(time.Minute)
		for range 20 {
			if err := m.Current(); !errors.Is(err, door.ErrBehind) || !errors.Is(err, door.ErrDown) {
				t.Fatalf("a node that was paused, and lacks what others have: %v", err)
			}
			if err := m.Refuses(); !errors.Is(err, door.ErrBehind) {
				t.Fatalf("it takes writes: %v", err)
			}
			time.Sleep(time.Second)
		}
		if m.Cluster().Serving {
			t.Error("it is said to serve")
		}
		if _, files, err := m.OpenCopy(true); err != nil || len(files) == 0 {
			t.Errorf("a copy of what it has: %v", err)
		}
		m.stop(time.Minute) // again, before it knew
		m.hold(false)
		for m.Current() != nil {
			time.Sleep(10 * time.Millisecond)
		}
		if !has(m.Door, "meanwhile") {
			t.Error("it answers, and lacks what others have")
		}
		if err := do(m.Door, set("own")); err != nil {
			t.Error(err)
		}
		equal(t, list)
	})
}

// TestPausedPastAPurge asks that a node which was stopped while the log was purged never
// answers with what it has, ends, and fetches a snapshot when it is started again.
func TestPausedPastAPurge(t *testing.T) {
	bubble(t, func(t *testing.T) {
		list := started(t, 3)
		m := list[2]
		m.hold(true)
		list[0].fill(1)
		list[0].save()
		list[1].save()
		list[0].purgeAll()
		m.stop(time.Hour)
		if err := m.Current(); !errors.Is(err, door.ErrBehind) {
			t.Errorf("right after the pause: %v", err)
		}
		m.hold(false)
		for ended := false; !ended; {
			select {
			case <-m.Failed():
				ended = true
			case <-time.After(time.Millisecond):
				if m.Current() == nil {
					t.Fatal("it serves what is stale")
				}
			}
		}
		if err := m.Serving(); !errors.Is(err, ErrPurged) {
			t.Errorf("it ends with %v", err)
		}
		m.kill()
		m.start()
		equal(t, list)
	})
}

// TestCutOffPastAPurge asks that a node which hears others again finds out at their first
// beats that the log was purged, and not when its tails do.
func TestCutOffPastAPurge(t *testing.T) {
	bubble(t, func(t *testing.T) {
		list := started(t, 3)
		m := list[2]
		m.peers.SetDeaf(true)
		m.hold(true)
		list[0].fill(1)
		list[0].save()
		list[1].save()
		list[0].purgeAll()
		m.peers.SetDeaf(false)
		select {
		case <-m.Failed():
		case <-time.After(2 * beatEvery):
			t.Fatal("it does not look at the log")
		}
		if err := m.Serving(); !errors.Is(err, ErrPurged) || m.Current() == nil {
			t.Errorf("it ends with %v", err)
		}
		m.kill()
		m.start()
		equal(t, list)
	})
}

// TestBehindSnapshots asks that a node which is slow, and lacks what is in the snapshots of
// others but not in the log, goes on.
func TestBehindSnapshots(t *testing.T) {
	bubble(t, func(t *testing.T) {
		list := started(t, 3)
		m := list[2]
		m.hold(true)
		list[0].fill(1)
		list[0].save()
		list[1].save()
		time.Sleep(time.Minute)
		if err := m.Current(); err != nil {
			t.Errorf("a node that is slow: %v", err)
		}
		m.hold(false)
		equal(t, list)
	})
}

// deafLog is a log whose next questions for a head are lost: they take long to fail.
type deafLog struct {
	*memlog.Node
	lost atomic.Int32
}

func (f *deafLog) Head(lane int) (first, last uint64, err error) {
	if f.lost.Add(-1) >= 0 {
		time.Sleep(time.Hour)
		return 0, 0, errors.New("lost")
	}
	return f.Node.Head(lane)
}

// TestLostQuestions loses the first questions for the head of a lane, as on connections that others have
// given up: the node asks again, and does not wait for them.
func TestLostQuestions(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log, lossy := memlog.New(1, memlog.Faults{}), &deafLog{}
		d := openAs(t, log, Config{}, func(n *memlog.Node) Log { lossy.Node = n; return lossy })
		lossy.lost.Store(2)
		began := time.Now()
		_, last, err := d.head(t.Context(), d.all()[0])
		if took := time.Since(began); err != nil || last == 0 || took > 3*askEvery {
			t.Errorf("a head of %d after %v, %v", last, took, err)
		}
		lossy.lost.Store(math.MaxInt32)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, _, err := d.head(ctx, d.all()[0]); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("without an answer: %v", err)
		}
		lossy.lost.Store(0)
		time.Sleep(2 * time.Hour) // those that were lost are over
	})
}
