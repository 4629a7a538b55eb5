package cluster

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestStray asks that bytes in the log that no node has sent are passed over by every
// node, also by one that starts later, and that an operator is told.
func TestStray(t *testing.T) {
	bubble(t, func(t *testing.T) {
		list := machines(t, 3)
		for _, m := range list[:2] {
			m.start()
		}
		list[0].fill(1)
		whole := appendSum(store.AppendRecord(appendHeader(nil, &header{cluster: 1, node: 1, session: 1, counter: 9}), &set("stray").Record))
		whole[3]++
		for lane := range list[0].all() {
			for _, b := range [][]byte{{}, []byte("hello"), []byte(strings.Repeat("a message of somebody else ", 20)), whole} {
				list[0].log.Append(lane, b)
			}
		}
		list[1].fill(2)
		list[0].save()
		list[0].kill()
		list[0].start()
		list[2].start()
		list[2].fill(3)
		equal(t, list)
		if problems := strings.Join(list[2].Cluster().Problems, "\n"); !strings.Contains(problems, "messages that no node has sent") {
			t.Errorf("problems: %s", problems)
		}
	})
}

// damagingNode delivers one message with a bit changed.
type damagingNode struct {
	*memlog.Node
	from uint64 // of lane 0
}

func (n *damagingNode) Tail(lane int, from uint64, took func(uint64, []byte)) (func(), error) {
	return n.Node.Tail(lane, from, func(seq uint64, msg []byte) {
		if lane == 0 && seq == n.from {
			msg[len(msg)/2] ^= 1
		}
		took(seq, msg)
	})
}

// TestDamagedHere asks that a node to which a message comes otherwise than the log has it
// stops: others have applied it.
func TestDamagedHere(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := memlog.New(1, memlog.Faults{})
		d := open(t, log, Config{})
		if err := do(d, set("a")); err != nil {
			t.Fatal(err)
		}
		node := &damagingNode{log.Node(ErrFull), log.Messages(0)}
		other, err := Open(Config{State: store.New(), Log: node, Lanes: 3})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := other.Start(ctx, nil); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("Start = %v, want %v", err, bloomery.ErrCorrupt)
		}
		node.Kill()
		node.Wait()
	})
}

// TestSetBack takes the end of the log away, as it happens if most log nodes are set back
// to an old copy of their folders, and has other messages in its place. A node whose
// snapshot has what is gone does not go on with them.
func TestSetBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		list := machines(t, 2)
		for _, m := range list {
			m.start()
		}
		list[0].fill(1)
		last := make([]uint64, len(list[0].all()))
		for lane := range last {
			last[lane] = list[0].log.Messages(lane)
		}
		list[0].fill(2)
		list[0].save()
		for _, m := range list {
			m.kill()
		}
		for lane := range last {
			list[0].log.Truncate(lane, last[lane])
		}
		list[1].start()
		for round := range 5 {
			list[1].fill(3 + round)
		}
		err := list[0].tryStart()
		if !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), "another one") {
			t.Errorf("start = %v, want %v", err, ErrLost)
		}
	})
}
