package cluster

// Which nodes are asked for a shard.

import (
	"slices"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/peers"
	"github.com/bloomery/bloomery/server/internal/placement"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestStartMeetsHolders asks that a node which was just started knows a live holder of every
// shard, and that it does not wait for those that are down.
func TestStartMeetsHolders(t *testing.T) {
	bubble(t, func(t *testing.T) {
		old := started(t, 1)[0]
		old.fill(0)
		copied, err := readCopy(old.Door, false)
		if err != nil {
			t.Fatal(err)
		}
		list := spreadOver(t, copied, 4, 2)
		startAll(t, list)
		again := list[3]
		again.kill()
		again.start()
		alone := func() (n int) {
			for shard := range placement.Shards {
				if !again.state.Holdings().Answers(shard) && len(again.lookAround().holders(shard)) == 0 {
					n++
				}
			}
			return n
		}
		if n := alone(); n > 0 {
			t.Errorf("no holder of %d shards is known right after the start", n)
		}
		again.kill()
		list[1].kill()
		list[2].kill()
		began := time.Now()
		again.start()
		if took := time.Since(began); alone() == 0 || took > 4*liveFor {
			t.Errorf("with two of four nodes down it serves after %v and lacks holders of %d shards", took, alone())
		}
	})
}

// TestStartAwaitsHolders asks that a node does not serve while the holders of what it lacks are starting, too: they send
// beats, and run nothing for others yet. It does not wait for ever for them.
func TestStartAwaitsHolders(t *testing.T) {
	bubble(t, func(t *testing.T) {
		old := started(t, 1)[0]
		old.fill(0)
		copied, err := readCopy(old.Door, false)
		if err != nil {
			t.Fatal(err)
		}
		list := spreadOver(t, copied, 4, 2)
		startAll(t, list)
		starting := func(are bool) {
			for _, m := range list[:3] {
				m.serving.Store(!are)
			}
		}
		again := list[3]
		again.kill()
		starting(true)
		done := make(chan error, 1)
		go func() { done <- again.tryStart() }()
		time.Sleep(liveFor / 2)
		select {
		case err := <-done:
			t.Errorf("it serves before the holders do, %v", err)
			done <- err
		default:
		}
		starting(false)
		began := time.Now()
		if err := <-done; err != nil || time.Since(began) > liveFor/2 {
			t.Errorf("it serves %v after them, %v", time.Since(began), err)
		}
		again.kill()
		starting(true)
		began = time.Now()
		if err := again.tryStart(); err != nil || time.Since(began) > 4*liveFor {
			t.Errorf("it serves after %v, %v", time.Since(began), err)
		}
	})
}

// TestStartingHolders asks that a holder which is starting is listed if no other lives, and only then.
func TestStartingHolders(t *testing.T) {
	own := directNode(t, 1, nil)
	starts, err := peers.Open(peers.Config{Addr: "127.0.0.1:0", Cluster: "c1"})
	if err != nil {
		t.Fatal(err)
	}
	defer starts.Close()
	d, err := Open(Config{State: store.New(), Log: memlog.New(1, memlog.Faults{}).Node(ErrFull), Direct: own, Files: &folder.Memory{}})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	d.number.Store(1)
	places := make([]roster.Place, placement.Shards)
	places[7].Copies = []roster.Copy{{Node: 2, Phase: roster.Holds}, {Node: 3, Phase: roster.Holds}}
	places[8].Copies = []roster.Copy{{Node: 2, Phase: roster.Learns}}
	d.state.SetRoster(&roster.Roster{Members: []roster.Member{{Number: 1}, {Number: 2}, {Number: 3}}, Shards: &roster.Shards{Copies: 2, Places: places}})
	if got := d.Holders(7); len(got) > 0 {
		t.Errorf("of nodes that are down: %v", got)
	}
	own.Know(2, starts.Addr())
	for !own.Starts(2) {
		time.Sleep(time.Millisecond)
	}
	if got := d.Holders(7); len(got) != 1 || got[0] != 2 || len(d.Holders(8)) > 0 {
		t.Errorf("of one that is starting: %v, and of what it learns %v", got, d.Holders(8))
	}
	other := directNode(t, 3, func(_ *peers.Asked, to []byte) []byte { return to })
	own.Know(3, other.Addr())
	for _, ok := own.Trip(3); !ok; _, ok = own.Trip(3) {
		time.Sleep(time.Millisecond)
	}
	d.nearby.Store(nil)
	if got := d.Holders(7); len(got) != 1 || got[0] != 3 {
		t.Errorf("of one that lives and one that is starting: %v", got)
	}
}

// TestUnheardHolders asks that a node which was just started waits for holders of which nothing was heard yet.
func TestUnheardHolders(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := open(t, memlog.New(1, memlog.Faults{}), Config{Peers: &memlog.Peers{}})
		places := make([]roster.Place, placement.Shards)
		for i, m := range []roster.Member{{Number: 2}, {Number: 3, Left: true}, {Number: 4, Behind: true}, {Number: 5}} {
			own := *d.state.Roster()
			own.Members = append(slices.Clone(own.Members), m)
			places[7].Copies = append(places[7].Copies, roster.Copy{Node: uint32(i + 2), Phase: roster.Holds})
			own.Shards = &roster.Shards{Copies: 2, Places: places}
			d.state.SetRoster(&own)
		}
		d.beats.heard = map[uint32]heard{5: {seen: -liveFor}} // and not lately
		if got := d.Holders(7); len(got) != 1 || got[0] != 2 {
			t.Errorf("right after the start: %v", got)
		}
		time.Sleep(startFor + 1)
		d.nearby.Store(nil)
		if got := d.Holders(7); len(got) > 0 {
			t.Errorf("later: %v", got)
		}
	})
}

// TestAgain asks for how long nodes are asked again.
func TestAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := open(t, memlog.New(1, memlog.Faults{}), Config{})
		began, times := time.Now(), 0
		for d.Again(began) {
			times++
		}
		if took := time.Since(began); took != d.config.Timeout || times < 100 || times > 200 {
			t.Errorf("%d times in %v", times, took)
		}
		go func() {
			time.Sleep(askAgain / 2)
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		}()
		if d.Again(time.Now()) {
			t.Error("by a node that is closed")
		}
	})
}
