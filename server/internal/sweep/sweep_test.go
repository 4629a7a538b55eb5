package sweep_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/gate"
	"github.com/bloomery/bloomery/server/internal/session"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/sweep"
)

// counted is a door that counts records, lets them be waited for, and refuses them on demand.
type counted struct {
	door.Door
	advances, evictions, waits int
	refuses                    error
}

func (d *counted) Refuses() error { return d.refuses }

func (d *counted) Do(ops []*door.Op) {
	for _, op := range ops {
		switch op.Record.Body.(type) {
		case *store.FilterAdvance:
			d.advances++
		case *store.Evict:
			d.evictions++
		}
	}
	d.Door.Do(ops)
	for _, op := range ops {
		op.Settled = false
	}
}

func (d *counted) Wait(ops []*door.Op) { d.waits += len(ops) }

// shared is that door in a cluster.
type shared struct {
	door.Shared
	grace time.Duration
}

func (s shared) Grace() time.Duration { return s.grace }

func sweeper(b *commandtest.Bench) (*sweep.Sweeper, *counted) {
	d := &counted{Door: b.Door}
	return &sweep.Sweeper{
		State: b.State, Door: d, Gate: &gate.Gate{}, Pause: &session.Pause{}, Expired: &atomic.Int64{}, Clock: func() time.Time { return b.Now },
	}, d
}

// TestSweep removes what is past its deadline, so many at a time, and nothing else.
func TestSweep(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	for i := range 5 {
		b.Line(fmt.Sprintf("SET s%d v PX 100", i))
	}
	b.Line("SET later v PX 101")
	b.Line("SET ever v")
	s, d := sweeper(b)
	if got := s.Sweep(100); got != 0 || d.evictions != 0 {
		t.Errorf("%d names are removed before their deadline", got)
	}
	b.Now = b.Now.Add(100 * time.Millisecond)
	for i, want := range []int{3, 2, 0} {
		if got := s.Sweep(3); got != want {
			t.Errorf("sweep %d removes %d names, want %d", i, got, want)
		}
	}
	if left := b.State.Names.Len(); left != 2 || s.Expired.Load() != 5 || d.evictions != 2 || d.waits != 2 {
		t.Errorf("%d names are left, %d counted, by %d records of which %d were waited for; want 2, 5, 2 and 2", left, s.Expired.Load(), d.evictions, d.waits)
	}
	s.Gate.Close() // which waits until nobody is inside
	s.Gate.Open()
	b.Crash(t)
}

// TestSweepWaits removes nothing while writes are refused or clients are paused: nobody
// sees what is past its deadline, and a record would be a write.
func TestSweepWaits(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Line("SET s v PX 1")
	b.Now = b.Now.Add(time.Second)
	s, d := sweeper(b)
	d.refuses = errors.New("the disk is full")
	if got := s.Sweep(10); got != 0 || d.evictions != 0 {
		t.Errorf("%d names are removed while writes are refused", got)
	}
	d.refuses = nil
	s.Pause.Begin(time.Hour, false)
	if got := s.Sweep(10); got != 0 || d.evictions != 0 {
		t.Errorf("%d names are removed in a pause", got)
	}
	s.Pause.End(true)
	if got := s.Sweep(10); got != 1 {
		t.Errorf("%d names are removed behind it, want 1", got)
	}
}

// TestSweepLeavesItToOthers asks that a machine of a cluster gives the one that decides some
// time, and then does it itself.
func TestSweepLeavesItToOthers(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Line("SET s v PX 100")
	b.OK(t, "FILTER.CREATE w window CAPACITY 100 SPAN 60s GENERATIONS 6")
	s, d := sweeper(b)
	s.Shared = shared{grace: 10 * time.Second}
	b.Now = b.Now.Add(10*time.Second + 99*time.Millisecond)
	if got := s.Sweep(10); got != 0 || d.advances != 0 {
		t.Errorf("%d names are removed and %d windows turned before the others have had their time", got, d.advances)
	}
	b.Now = b.Now.Add(time.Millisecond)
	if got := s.Sweep(10); got != 1 {
		t.Errorf("%d names are removed behind it, want 1", got)
	}
	b.Now = b.Now.Add(10 * time.Second)
	if s.Sweep(10); d.advances == 0 {
		t.Error("no window is turned")
	}
}

// TestSweepOfWindows lets a window forget that nobody uses, and looks at windows once a
// second at most.
func TestSweepOfWindows(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.OK(t, "FILTER.CREATE w window CAPACITY 100 SPAN 6s GENERATIONS 6")
	b.Line("FILTER.ADD w x")
	p := contents.PartOf(b.State.Names.Lookup([]byte("w"), b.Now.UnixMilli()))
	s, d := sweeper(b)
	s.Sweep(10) // it has been looked at now
	for i := range 20 {
		b.Now = b.Now.Add(500 * time.Millisecond)
		s.Sweep(10)
		if most := i/2 + 2; d.advances > most {
			t.Fatalf("%d records in %d half seconds", d.advances, i+1)
		}
	}
	if _, due := p.Due(b.Now.UnixMilli()); due || d.advances < 6 {
		t.Errorf("after 10 s a window of 6 s is due: %t, by %d records", due, d.advances)
	}
	if got := b.Line("FILTER.HAS w x"); got != "[false]" {
		t.Errorf("an item of 10 s ago: %s", got)
	}
	b.OK(t, "FILTER.CREATE gone window CAPACITY 100 SPAN 6s GENERATIONS 6")
	b.Line("DEL gone")
	b.Now = b.Now.Add(5 * time.Second)
	before := d.advances
	s.Sweep(10)
	if len(b.State.Windows()) != 1 || d.advances != before+1 {
		t.Errorf("%d windows are looked at, %d records more; want one of each", len(b.State.Windows()), d.advances-before)
	}
	b.Crash(t)
}

// TestSweepWithAClockSetBack asks that windows go on to forget when the clock was wrong.
func TestSweepWithAClockSetBack(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	s, d := sweeper(b)
	right := b.Now
	b.Now = right.Add(time.Hour)
	s.Sweep(10)
	b.Now = right
	b.OK(t, "FILTER.CREATE w window CAPACITY 100 SPAN 6s GENERATIONS 6")
	b.Now = right.Add(1500 * time.Millisecond)
	if s.Sweep(10); d.advances != 1 {
		t.Errorf("%d records for a window whose generation has ended", d.advances)
	}
}

// TestSweepOfAbandoned drops what a machine of a cluster has staged and given up a day ago.
// Only the machine that decides does; a server alone finds such filters when it recovers.
func TestSweepOfAbandoned(t *testing.T) {
	for _, tt := range []struct {
		name  string
		in    door.Shared
		after time.Duration
		want  int
	}{
		{"alone", nil, 25 * time.Hour, 1},
		{"another decides", shared{grace: time.Second}, 25 * time.Hour, 1},
		{"in time", shared{}, 23 * time.Hour, 1},
		{"given up", shared{}, 25 * time.Hour, 0},
	} {
		b := commandtest.New(t, 1<<30)
		b.OK(t, "FILTER.CREATE f bloom CAPACITY 100")
		b.OK(t, "FILTER.REBUILD f BEGIN CAPACITY 200")
		if n := len(b.State.Names.Unnamed()); n != 1 {
			t.Fatalf("%d filters without a name", n)
		}
		b.Now = b.Now.Add(tt.after)
		s, _ := sweeper(b)
		s.Shared = tt.in
		s.Sweep(10)
		if got := len(b.State.Names.Unnamed()); got != tt.want {
			t.Errorf("%s: %d filters without a name, want %d", tt.name, got, tt.want)
		}
	}
}
