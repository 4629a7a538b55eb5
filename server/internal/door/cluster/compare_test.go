package cluster

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestCompare asks that nodes whose parts differ, though they have had the same
// records, say so, and that nodes that are equal do not.
func TestCompare(t *testing.T) {
	bubble(t, func(t *testing.T) {
		list := machines(t, 2)
		for round, m := range list {
			m.start()
			m.fill(round)
		}
		settled := func() {
			t.Helper()
			for _, m := range list {
				m.save()
			}
			time.Sleep(3 * beatEvery)
		}
		settled()
		for i, m := range list {
			if len(m.compared.Some()) < 8 {
				t.Errorf("node %d knows %d sums", i+1, len(m.compared.Some()))
			}
			if c := m.Cluster(); c.Differ != 0 || len(c.Problems) != 0 {
				t.Errorf("equal nodes: node %d sees %d parts that differ, problems %q", i+1, c.Differ, c.Problems)
			}
		}
		// One bit is another one on each node, as if memory was damaged.
		for i, m := range list {
			e := m.state.Names.Lookup([]byte("cuckoo3"), 0)
			p := contents.PartAt(e, 0)
			p.Lock()
			store.Apply(m.state, &store.Record{ID: e.ID, Body: &store.CuckooInsert{Room: store.Unlimited, Hashes: []uint64{uint64(7000 + i)}}}, p, &store.Result{})
			p.Unlock()
		}
		settled()
		for i, m := range list {
			c := m.Cluster()
			if c.Differ != 1 || len(c.Problems) != 1 || !strings.Contains(c.Problems[0].Text, `"cuckoo3"`) {
				t.Errorf("node %d sees %d parts that differ, problems %q", i+1, c.Differ, c.Problems)
			}
		}
		if err := do(list[0].Door, &door.Op{Record: store.Record{Body: &store.Remove{Names: [][]byte{[]byte("cuckoo3")}}}}); err != nil {
			t.Fatal(err)
		}
		settled()
		for i, m := range list {
			if c := m.Cluster(); c.Differ != 0 {
				t.Errorf("node %d sees %d parts that differ after the filter was removed", i+1, c.Differ)
			}
		}
	})
}

// damaging is a log whose tail damages a message. Others have a copy of it.
type damaging struct {
	*memlog.Node
	lost bool // the leader has it no more
}

func (d *damaging) Tail(lane int, from uint64, took func(seq uint64, msg []byte)) (stop func(), err error) {
	return d.Node.Tail(lane, from, func(seq uint64, msg []byte) {
		if lane == 0 && seq == 5 {
			msg = slices.Clone(msg)
			msg[len(msg)/2] ^= 4
		}
		took(seq, msg)
	})
}

func (d *damaging) Read(lane int, seq uint64) ([]byte, error) {
	if d.lost && seq == 5 {
		return nil, nil
	}
	return d.Node.Read(lane, seq)
}

// TestDamagedMessage asks that a message that is damaged in one copy of a stream is
// read from another, and that a node stops where that is not possible.
func TestDamagedMessage(t *testing.T) {
	for _, lost := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			log := memlog.New(1, memlog.Faults{})
			first := open(t, log, Config{})
			for _, name := range []string{"a", "b", "c", "d"} {
				if err := do(first, set(name)); err != nil {
					t.Fatal(err)
				}
			}
			d := &damaging{Node: log.Node(ErrFull), lost: lost}
			other, err := Open(Config{State: store.New(), Log: d, Files: &folder.Memory{}})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				d.Kill()
				_ = other.Close()
				d.Wait()
			}()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err = other.Start(ctx, nil)
			if lost {
				if !errors.Is(err, bloomery.ErrCorrupt) {
					t.Errorf("a damaged message that the leader has no more: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"a", "b", "c", "d"} {
				if !has(other, name) {
					t.Errorf("%s is missing", name)
				}
			}
		})
	}
}
