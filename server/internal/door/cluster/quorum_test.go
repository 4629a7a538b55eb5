package cluster

// What clients are answered while the log takes nothing: without a majority, and when a
// stream is full.

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
)

// TestWithoutQuorum asks what clients are told while the log answers nothing, and
// that what was sent counts once it answers again.
func TestWithoutQuorum(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := memlog.New(1, memlog.Faults{Answer: 2 * time.Second})
		d := open(t, log, Config{})
		if err := do(d, set("before")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // silence is no fault
		if err := d.Refuses(); err != nil {
			t.Fatal(err)
		}
		log.SetDown(true)
		began := time.Now()
		if err := do(d, set("sent")); !errors.Is(err, door.ErrUnknown) {
			t.Errorf("a write without quorum: %v", err)
		}
		if took := time.Since(began); took != defaultTimeout {
			t.Errorf("the client was answered after %v", took)
		}
		if err := d.Refuses(); !errors.Is(err, door.ErrDown) {
			t.Errorf("Refuses = %v", err)
		}
		began = time.Now()
		if err := do(d, set("refused")); !errors.Is(err, door.ErrDown) || time.Since(began) != 0 {
			t.Errorf("a write after 10 s without quorum: %v, after %v", err, time.Since(began))
		}
		if err := d.FreshNames(); !errors.Is(err, door.ErrDown) {
			t.Errorf("FreshNames = %v", err)
		}
		if c := d.Cluster(); c.Quorum || !c.Serving || c.Err == nil || c.Lanes[0].Down == nil || len(c.Problems) == 0 {
			t.Errorf("Cluster = %+v", c)
		}
		log.SetDown(false)
		time.Sleep(10 * time.Second)
		if err := d.Refuses(); err != nil {
			t.Errorf("Refuses with a quorum = %v", err)
		}
		if err := do(d, set("after")); err != nil {
			t.Error(err)
		}
		if !has(d, "before") || !has(d, "sent") || has(d, "refused") || !has(d, "after") {
			t.Error("names are not as clients were told")
		}
	})
}

// TestUnsent asks that what is known not to have been sent is not answered as
// unknown, and never sent.
func TestUnsent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := memlog.New(1, memlog.Faults{Answer: time.Second})
		d := open(t, log, Config{Timeout: 5 * time.Second})
		log.SetDown(true)
		var ops []*door.Op
		for i := range 40 {
			op := set(fmt.Sprint("n", i))
			d.Do([]*door.Op{op})
			wake([]*door.Op{op})
			synctest.Wait() // the sender takes what it may
			ops = append(ops, op)
		}
		d.Wait(ops)
		unknown := 0
		for i, op := range ops {
			switch {
			case errors.Is(op.Err, door.ErrUnknown):
				unknown++
			case !errors.Is(op.Err, door.ErrDown):
				t.Errorf("op %d: %v", i, op.Err)
			}
		}
		if unknown < 1 || unknown > mostOpen {
			t.Errorf("%d of 40 ops are unknown, at most %d were sent", unknown, mostOpen)
		}
		if n := d.waitingBytes.Load(); n != 0 {
			t.Errorf("%d bytes wait", n)
		}
		log.SetDown(false)
		time.Sleep(10 * time.Second)
		for i, op := range ops {
			if got, want := has(d, fmt.Sprint("n", i)), errors.Is(op.Err, door.ErrUnknown); got != want {
				t.Errorf("op %d, %v: in the state: %v", i, op.Err, got)
			}
		}
	})
}

// TestFullStream asks that a stream without room refuses writes, and takes them again.
func TestFullStream(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := memlog.New(1, memlog.Faults{Answer: time.Second})
		d := open(t, log, Config{})
		log.SetFull(true)
		first := set("first")
		d.Do([]*door.Op{first})
		time.Sleep(time.Second)
		if err := do(d, set("second")); !errors.Is(err, door.ErrDown) || !strings.Contains(err.Error(), "full") {
			t.Errorf("a write to a full stream: %v", err)
		}
		log.SetFull(false)
		if d.Wait([]*door.Op{first}); first.Err != nil {
			t.Errorf("the write that met the full stream: %v", first.Err)
		}
		if err := do(d, set("third")); err != nil {
			t.Error(err)
		}
	})
}
