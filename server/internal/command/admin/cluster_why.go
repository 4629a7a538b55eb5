package admin

// CLUSTER WHY: where a key lies, and what it waits for.

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/control"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/status"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// clusterWhy is CLUSTER WHY. A server that hides its cluster from clients answers, too.
var clusterWhy = engine.Command{
	Name: "why", Arity: 3, Flags: traits.Admin | traits.NoScript | traits.NoMulti | traits.Stale | traits.Outside, Categories: []string{"admin", "slow", "dangerous"},
	Keys:  traits.Keys{traits.KeyAt(2, traits.KeyRO)},
	Since: "0.1.0", Syntax: "key", Complexity: "O(n), n being the number of parts of the key",
	Summary: "Returns as lines of text which nodes hold the parts of a key, in which lanes its writes come, how far this node is in them, how far a rebuild is, and what the key waits for. Not in Redis.",
	Run: func(x *engine.Context, c *engine.Call) {
		s, in := x.Server().Cluster().Status()
		if !x.Can().Cluster || !in {
			c.Fail(control.TextNoCluster)
			return
		}
		k, ok := x.Server().Where(c.Args[2])
		if !ok {
			c.Fail("ERR no such key")
			return
		}
		c.Answer(answer.Reply{Kind: answer.Verbatim, Text: describeKey(&s, &k)})
	},
}

// describeKey returns the lines of CLUSTER WHY.
func describeKey(s *status.Cluster, k *status.Key) string {
	var b strings.Builder
	line(&b, "node", s.Node)
	line(&b, "kind", k.Kind)
	line(&b, "id", k.ID)
	if k.Rebuild != "" {
		line(&b, "rebuild", k.Rebuild)
	}
	for i := range k.Parts {
		p := &k.Parts[i]
		lane := status.Lane{}
		if p.Lane < len(s.Lanes) {
			lane = s.Lanes[p.Lane]
		}
		line(&b, "part_"+strconv.Itoa(p.Index), fmt.Sprintf("shard=%d,lane=%s,applied=%d,head=%d,here=%d,holds=%s,learns=%s,retires=%s",
			p.Shard, lane.Name, lane.Applied, lane.Head, number(p.Here), status.Numbers(p.Holds), status.Numbers(p.Learns), status.Numbers(p.Retires)))
	}
	for i, text := range s.Waits(k) {
		line(&b, "wait_"+strconv.Itoa(i), text)
	}
	return b.String()
}
