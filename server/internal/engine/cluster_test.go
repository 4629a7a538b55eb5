package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bloomery/bloomery/server/internal/bundle"
	"github.com/bloomery/bloomery/server/internal/command"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door/cluster"
	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/session"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// newNode is newBench over the door of a cluster whose log is in memory. It is called
// where time is simulated.
func newNode(t *testing.T, log *memlog.Log) (*bench, *cluster.Door, *memlog.Node) {
	t.Helper()
	return newNodeOf(t, log, cluster.Config{})
}

// newNodeOf is newNode with more settings.
func newNodeOf(t testing.TB, log *memlog.Log, c cluster.Config) (*bench, *cluster.Door, *memlog.Node) {
	t.Helper()
	return newNodeWith(t, log, c, command.All())
}

// newNodeWith is newNodeOf with other commands.
func newNodeWith(t testing.TB, log *memlog.Log, c cluster.Config, commands []engine.Command) (*bench, *cluster.Door, *memlog.Node) {
	t.Helper()
	b := &bench{state: store.New(), now: time.UnixMilli(1_700_000_000_000)}
	node := log.Node(cluster.ErrFull)
	c.State, c.Log, c.Lanes = b.state, node, 2
	if c.Files == nil {
		c.Files = &folder.Memory{}
	}
	d, err := cluster.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	b.engine = engine.New(engine.Config{
		Commands: commands, State: b.state, Door: d, Host: b, MaxMemory: 1 << 30,
		Clock: b.clock, Settings: session.NewSettings(session.RedisBloomDefaults(), ""),
	})
	t.Cleanup(func() {
		node.Kill()
		_ = d.Close()
		node.Wait()
		b.state.Discard()
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := d.Start(ctx, b.engine.Alone); err != nil {
		t.Fatal(err)
	}
	b.client = b.connect()
	return b, d, node
}

// upgrade allows the records of this release in a cluster of one node.
func upgrade(t *testing.T, d *cluster.Door) {
	t.Helper()
	if level, err := d.Upgrade(); level != cluster.Level || err != nil {
		t.Fatalf("Upgrade() = %d, %v", level, err)
	}
}

// TestNoReplyHidesALostQuorum runs every command that writes on a node of a cluster
// that loses its quorum right before: the reply is that nobody knows; and some time
// after: it is that the cluster is down. There is no other reply.
func TestNoReplyHidesALostQuorum(t *testing.T) {
	engine.NewTable(command.All()).Walk(func(c *engine.Command) {
		if c.Flags&(traits.Write|traits.Wrote) == 0 {
			return
		}
		for _, line := range samples[c.FullName()] {
			synctest.Test(t, func(t *testing.T) {
				log := memlog.New(1, memlog.Faults{Answer: time.Second})
				b, d, _ := newNode(t, log)
				upgrade(t, d)
				values := setup(b)
				log.SetDown(true)
				if got := b.do(words(line, values)...); !strings.HasPrefix(got, "-UNKNOWN") && !strings.HasPrefix(got, "-CLUSTERDOWN") {
					t.Errorf("%s without a quorum = %.100s", line, got)
				}
				b.line("SET other v") // some records are on their way now
				if d.Refuses() == nil {
					t.Errorf("%s: writes are taken", line)
				}
				if got := b.do(words(line, values)...); !strings.HasPrefix(got, "-CLUSTERDOWN") {
					t.Errorf("%s long after = %.100s", line, got)
				}
				if got := b.line("STRLEN s"); strings.HasPrefix(got, "-") {
					t.Errorf("a read without a quorum = %s", got)
				}
				b.engine.Release(b.session)
				if got := b.engine.Budget.Used() - b.state.Bytes(); got != 0 {
					t.Errorf("%s: %d bytes stay set aside or held", line, got)
				}
			})
		}
	})
}

// TestNoTransactionHidesALostQuorum does the same for each of them in a transaction. One
// that a cluster cannot do is refused as a whole.
func TestNoTransactionHidesALostQuorum(t *testing.T) {
	for _, lines := range samples {
		for _, line := range lines {
			synctest.Test(t, func(t *testing.T) {
				log := memlog.New(1, memlog.Faults{Answer: time.Second})
				b, d, _ := newNode(t, log)
				upgrade(t, d)
				values := setup(b)
				log.SetDown(true)
				b.line("MULTI")
				b.do(words(line, values)...)
				got := b.line("EXEC")
				if !strings.Contains(got, "-UNKNOWN") && !strings.Contains(got, "-CLUSTERDOWN") && !strings.HasPrefix(got, "-EXECABORT") {
					t.Errorf("%s in a transaction without a quorum = %.100s", line, got)
				}
				b.engine.Release(b.session)
				if got := b.engine.Budget.Used() - b.state.Bytes(); got != 0 {
					t.Errorf("%s: %d bytes stay set aside or held", line, got)
				}
			})
		}
	}
}

// TestFewMessages asks that the items of a command share messages: it is these that
// cost, and each has to be waited for.
func TestFewMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memlog.New(1, memlog.Faults{})
		b, d, _ := newNode(t, log)
		b.lines("BF.RESERVE bf 0.01 10000", "CF.RESERVE cf 10000", "FILTER.CREATE fl bloom CAPACITY 10000")
		for _, tt := range []struct {
			key, add, has string
			items         int
			want          uint64
		}{
			{"bf", "BF.MADD bf", "BF.MEXISTS bf", 1000, 1},
			{"fl", "FILTER.ADD fl", "FILTER.HAS fl", 1000, 1},
			{"cf", "CF.INSERT cf ITEMS", "CF.MEXISTS cf", 1000, 1},
			{"bf", "BF.MADD bf", "BF.MEXISTS bf", 2500, 3},
		} {
			words := strings.Fields(tt.add)
			asked := strings.Fields(tt.has)
			for i := range tt.items {
				words = append(words, fmt.Sprint(tt.items, ":", i))
				asked = append(asked, fmt.Sprint(tt.items, ":", i))
			}
			lane := d.LaneOf(b.state.Names.Lookup([]byte(tt.key), 0).ID, 0)
			before := log.Messages(lane)
			if got := b.do(words...); strings.Contains(got, "-") {
				t.Fatalf("%s of %d items = %.200s", tt.add, tt.items, got)
			}
			if got := log.Messages(lane) - before; got != tt.want {
				t.Errorf("%s of %d items: %d messages, want %d", tt.add, tt.items, got, tt.want)
			}
			if got := b.do(asked...); strings.Count(got, "true")+strings.Count(got, ":1") != tt.items {
				t.Errorf("%s of %d items = %.200s", tt.has, tt.items, got)
			}
		}
	})
}

// TestOthersLackRoom runs every command that writes on a node while another has no memory
// left: those that need some say so, and nothing else is the reason for an error.
func TestOthersLackRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, peers := memlog.New(1, memlog.Faults{}), &memlog.Peers{}
		var room atomic.Uint64
		a, _, _ := newNodeOf(t, log, cluster.Config{Peers: peers})
		newNodeOf(t, log, cluster.Config{Peers: peers, Headroom: room.Load})
		reply := func(line string, left uint64) string {
			room.Store(1 << 30)
			time.Sleep(2 * time.Second)
			a.line("FLUSHALL")
			values := setup(a)
			room.Store(left)
			time.Sleep(2 * time.Second)
			return a.do(words(line, values)...)
		}
		refused := 0
		engine.NewTable(command.All()).Walk(func(c *engine.Command) {
			if c.Flags&(traits.Write|traits.Wrote) == 0 {
				return
			}
			for _, line := range samples[c.FullName()] {
				want, got := reply(line, 1<<30), reply(line, 0)
				// An insert into a CF may always need another sub-filter. The memory of
				// replies is used again: an equal one can be that of an earlier command.
				f, ok := c.On.(*bundle.OnFilter)
				insert := ok && f.Write != nil && f.Write.Grows && strings.HasPrefix(c.Name, "cf.")
				if got == want && !insert {
					continue
				}
				refused++
				if !strings.HasPrefix(got, "-OOM ") && !strings.Contains(got, "nsufficient memory") {
					t.Errorf("%s = %s, while another node has no memory = %s", line, want, got)
				}
			}
		})
		if refused < 5 {
			t.Errorf("%d commands were refused, want more", refused)
		}
	})
}

// TestRoomForOthers asks that a record has room for what other nodes add before it: it
// is not prepared twice.
func TestRoomForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memlog.New(1, memlog.Faults{})
		a, d, slow := newNode(t, log)
		b, _, _ := newNode(t, log)
		a.line("BF.RESERVE k 0.01 10")
		lane := d.LaneOf(a.state.Names.Lookup([]byte("k"), 0).ID, 0)
		slow.Hold(lane, true)
		full := func() bool { // the next item needs a layer more
			return contents.PartOf(b.state.Names.Lookup([]byte("k"), 0)).Bloom().GrowBytes(1) > 0
		}
		for i := 0; i < 100 || !full(); i++ {
			b.line(fmt.Sprint("BF.ADD k item", i))
		}
		before := log.Messages(lane)
		done := make(chan string)
		go func() { done <- a.line("BF.MADD k x y z") }()
		time.Sleep(time.Second)
		slow.Hold(lane, false)
		if got := <-done; got != "[true true true]" {
			t.Errorf("BF.MADD = %s", got)
		}
		if got := log.Messages(lane) - before; got != 1 {
			t.Errorf("it took %d messages, want 1", got)
		}
	})
}

// TestClearOnAnotherNode empties a filter on one node: what another one has measured of it
// starts again, too.
func TestClearOnAnotherNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memlog.New(1, memlog.Faults{})
		a, _, _ := newNode(t, log)
		b, _, _ := newNode(t, log)
		a.lines("FILTER.CREATE f bloom CAPACITY 100", "FILTER.ADD f x")
		time.Sleep(time.Second) // both have it
		b.line("FILTER.HAS f x y z")
		shown := func(want string) {
			t.Helper()
			if got := b.line("FILTER.INFO f"); !strings.Contains(got, want) {
				t.Errorf("FILTER.INFO: %s, want %s", got, want)
			}
		}
		shown(`"lookups" :3 "negatives" :2 `)
		a.line("FILTER.CLEAR f")
		time.Sleep(time.Second)
		b.line("FILTER.HAS f x")
		shown(`"lookups" :1 "negatives" :1 "saved" 1 `)
	})
}
