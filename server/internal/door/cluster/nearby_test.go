package cluster

// Which nodes are asked for a shard.

import (
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/placement"
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
				if !again.state.Holdings().Answers(shard) && len(again.Holders(shard)) == 0 {
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
