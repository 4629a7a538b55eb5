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
