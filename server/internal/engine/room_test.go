package engine_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/peers"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestRoomOfManyCreators makes filters at several nodes at once, of which each fits at every node and not all together:
// no node takes more than it may, though beats say all the time that it has room. The memory that nodes have set aside
// for others is free again in the end.
func TestRoomOfManyCreators(t *testing.T) {
	for _, holds := range []func(shard, node int) bool{
		func(shard, node int) bool { return shard%4 != node },
		func(shard, node int) bool { return shard%4 == node },
		func(int, int) bool { return true },
	} {
		synctest.Test(t, func(t *testing.T) {
			v := newSpread(t, memlog.Faults{Delay: 5 * time.Millisecond})
			v.place(t, holds)
			const most = 5 << 20
			for i, b := range v.nodes {
				b.line(fmt.Sprint("CONFIG SET maxmemory ", most))
				v.room[i].Store(most)
			}
			time.Sleep(5 * time.Second) // all have heard of it
			var all sync.WaitGroup
			var mu sync.Mutex
			made := 0
			for i, b := range v.nodes[:3] {
				for _, create := range []string{"FILTER.CREATE f%d bloom CAPACITY 500000 PARTS 4", "BF.RESERVE b%d 0.01 400000", "BF.INSERT i%d CAPACITY 400000 ITEMS a"} {
					c := b.connect()
					all.Go(func() {
						for n := range 8 {
							got := c.line(fmt.Sprintf(create, 10*n+i))
							mu.Lock()
							if !strings.HasPrefix(got, "-") {
								made++
							} else if !strings.HasPrefix(got, "-OOM ") && !strings.Contains(got, "nsufficient memory") {
								t.Errorf("%s = %s", create, got)
							}
							mu.Unlock()
						}
					})
				}
			}
			all.Wait()
			time.Sleep(10 * time.Second)
			for i, b := range v.nodes {
				if n := b.state.Bytes(); n > most {
					t.Errorf("node %d has %d bytes of %d", i+1, n, most)
				}
				if n := b.engine.Budget.Used() - b.engine.Budget.Clients() - b.state.Bytes(); n != 0 {
					t.Errorf("node %d has still set %d bytes aside", i+1, n)
				}
			}
			if made < 5 {
				t.Errorf("%d filters are made", made)
			}
		})
	}
}

// TestRoomThatIsForgotten has a node make a filter that cannot tell the others what became of it: they have set memory
// aside, and it is free again after a minute. A node that cannot be asked is judged by its beats.
func TestRoomThatIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		v.place(t, func(_, node int) bool { return node == 1 })
		const most = 4 << 20
		v.nodes[1].line(fmt.Sprint("CONFIG SET maxmemory ", most))
		v.room[1].Store(most)
		time.Sleep(5 * time.Second)
		asked := 0
		v.peers.SetFault(func(uint32) (f memlog.Fault) {
			if asked++; asked > 1 {
				f.Unsent = peers.ErrUnsent
			}
			return f
		})
		const create = " bloom CAPACITY 2000000 PARTS 4" // 2.5 MB
		v.nodes[2].line("FILTER.CREATE f" + create)
		time.Sleep(time.Second)
		v.peers.SetFault(nil)
		v.nodes[2].line("DEL f")
		time.Sleep(time.Second)
		if got := v.nodes[0].line("FILTER.CREATE g" + create); !strings.HasPrefix(got, "-OOM node 2 (host2:1) is to hold ") {
			t.Errorf("FILTER.CREATE while memory is set aside = %s", got)
		}
		time.Sleep(time.Minute)
		v.peers.SetFault(func(uint32) memlog.Fault { return memlog.Fault{Unsent: peers.ErrUnsent} })
		if got := v.nodes[0].line("FILTER.CREATE g" + create); got != "+OK" {
			t.Errorf("FILTER.CREATE = %s", got)
		}
		v.room[1].Store(1 << 20)
		time.Sleep(5 * time.Second)
		if got := v.nodes[0].line("FILTER.CREATE h" + create); !strings.HasPrefix(got, "-OOM node 2 (host2:1) is to hold ") {
			t.Errorf("FILTER.CREATE without an answer = %s", got)
		}
	})
}

// TestRoomToGrow makes filters larger that two nodes hold, one of which has too little memory for that, though its beats say
// otherwise: it is asked, and the error names it. Nothing stays set aside.
func TestRoomToGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		v.record(t, 0, &store.Level{Level: store.LevelRebuilds})
		v.place(t, func(_, node int) bool { return node == 1 || node == 2 })
		for i := range v.room {
			v.room[i].Store(8 << 20)
		}
		v.nodes[2].line("CONFIG SET maxmemory 3mb")
		time.Sleep(5 * time.Second) // all have heard of it
		lines := []string{"FILTER.GROW f", "FILTER.SET f NEWS 1000000", "FILTER.REBUILD f BEGIN CAPACITY 4000000", "FILTER.REBUILD f BEGIN CAPACITY 4000000 PARTS 4"}
		for i, b := range v.nodes[:2] { // the second holds it
			b.lines("DEL f", "FILTER.CREATE f bloom CAPACITY 1000000 PARTS 1") // 1.2 MB
			for _, line := range lines {
				if got := b.line(line); !strings.HasPrefix(got, "-OOM node 3 (host3:1) is to hold ") {
					t.Errorf("node %d: %s = %s", i+1, line, got)
				}
			}
		}
		v.nodes[2].line("CONFIG SET maxmemory 64mb")
		time.Sleep(time.Minute)
		for i, b := range v.nodes {
			if n := b.engine.Budget.Used() - b.engine.Budget.Clients() - b.state.Bytes(); n != 0 {
				t.Errorf("node %d has still set %d bytes aside", i+1, n)
			}
		}
		for _, line := range append(lines[:3], "FILTER.REBUILD f ABORT") {
			if got := v.nodes[0].line(line); got != "+OK" {
				t.Errorf("with room: %s = %s", line, got)
			}
		}
	})
}
