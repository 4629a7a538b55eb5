package admin

// CLUSTER FORGET, REPLACE-LOG, UPGRADE and those of moves: changes of the cluster itself.

import (
	"math"
	"strings"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/control"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/traits"
)

var clusterMembers = []engine.Command{
	changesCluster("forget", "3.0.0", "node [WAIT]", "Removes a node for good, by its number or id. It stops, and nothing waits for it any more. While others have to take over what it holds that is the error TRYAGAIN, or, with WAIT, a status that begins with WAIT.", -3, runForget),
	changesCluster("replace-log", "0.1.0", "old new", "Makes a node keep the log in the place of another, which is removed. Each call does the next step and returns 0, or 1 for the last one, and what it did; or -1, and what it has to wait for. Not in Redis.", 4, runReplaceLog),
	changesCluster("copies", "0.1.0", "number [FORCE]", "Sets how many nodes hold the contents of each filter, 2 to 5. The first time cannot be undone, as the reply says, and ends rebuilds: while some are open it needs FORCE. Not in Redis.", -3, runCopies),
	changesCluster("pause-moves", "0.1.0", "", "Lets no contents begin to move between nodes; what has begun ends. Not in Redis.", 2, runMoves(true)),
	changesCluster("resume-moves", "0.1.0", "", "Lets contents move between nodes again. Not in Redis.", 2, runMoves(false)),
	changesCluster("rebalance", "0.1.0", "[DRYRUN]", "Begins to move contents so that each node holds its share, now and not after half a minute in which no node comes or goes; with DRYRUN nothing begins. It returns a row for each node that has not its share: its number, the shards that it learns, their bytes, the seconds that takes, and the shards that it lets go of. Not in Redis.", -2, runRebalance),
	changesCluster("upgrade", "0.1.0", "", "Allows what all nodes can do by now, and returns the level. Not in Redis.", 2, runUpgrade),
}

// changesCluster makes a subcommand of CLUSTER for operators. A server that hides its
// cluster from clients answers, too.
func changesCluster(name, since, syntax, summary string, arity int, run func(*engine.Context, *engine.Call)) engine.Command {
	return engine.Command{
		Name: name, Arity: arity, Flags: traits.Admin | traits.NoScript | traits.NoMulti | traits.Stale | traits.Outside, Categories: []string{"admin", "slow", "dangerous"},
		Since: since, Syntax: syntax, Complexity: "O(n), n being the number of nodes", Summary: summary,
		Run: func(x *engine.Context, c *engine.Call) {
			if !x.Can().Cluster {
				c.Fail(control.TextNoCluster)
				return
			}
			run(x, c)
		},
	}
}

// nodes reads the numbers or ids of nodes. If one is wrong it answers.
func nodes(x *engine.Context, c *engine.Call, args [][]byte) (list []uint32) {
	s, _ := x.Server().Cluster().Status()
	for _, arg := range args {
		number := uint32(0)
		if n, ok := answer.ParseInt(arg); ok && n > 0 && n <= int64(len(s.Nodes)) {
			number = uint32(n)
		}
		for i := range s.Nodes {
			if strings.EqualFold(string(arg), nodeID(s.ID, s.Nodes[i].Number)) {
				number = s.Nodes[i].Number
			}
		}
		if number == 0 {
			c.Fail("ERR Unknown node " + clipped(arg))
			return nil
		}
		list = append(list, number)
	}
	return list
}

// clipped returns an argument as it may stand in an error.
func clipped(arg []byte) string {
	return strings.Join(strings.Fields(string(arg[:min(len(arg), 64)])), " ")
}

func runForget(x *engine.Context, c *engine.Call) {
	wait := len(c.Args) == 4 && answer.Is(c.Args[3], "wait")
	if len(c.Args) > 3 && !wait {
		c.Fail(answer.TextSyntax)
		return
	}
	if list := nodes(x, c, c.Args[2:3]); list != nil {
		c.Answer(x.Server().Cluster().Forget(list[0], wait))
	}
}

func runReplaceLog(x *engine.Context, c *engine.Call) {
	if list := nodes(x, c, c.Args[2:]); list != nil {
		c.Answer(x.Server().Cluster().ReplaceLog(list[0], list[1]))
	}
}

func runUpgrade(x *engine.Context, c *engine.Call) { c.Answer(x.Server().Cluster().Upgrade()) }

func runCopies(x *engine.Context, c *engine.Call) {
	n, ok := answer.ParseInt(c.Args[2])
	force := len(c.Args) == 4 && answer.Is(c.Args[3], "force")
	switch {
	case !ok:
		c.Fail(answer.TextInteger)
		return
	case len(c.Args) > 3 && !force:
		c.Fail(answer.TextSyntax)
		return
	case !force && !x.Contents().Roster().Spread():
		if open := x.Server().Rebuilds(); len(open) > 0 {
			c.Fail("ERR rebuilds are open that this would end: " + answer.Clip([]byte(strings.Join(open, ", "))) + ": COMMIT or ABORT them first, or add FORCE")
			return
		}
	}
	first := !x.Contents().Roster().Spread()
	reply := x.Server().Cluster().SetCopies(int(min(max(n, -1), math.MaxInt32)))
	if first && reply.Kind == answer.Status {
		reply = answer.Word(textSpread)
	}
	c.Answer(reply)
}

// textSpread answers the first CLUSTER COPIES of a cluster.
const textSpread = "OK. It cannot be undone: the number can be changed, but no cluster goes back to every node holding everything"

func runMoves(paused bool) func(*engine.Context, *engine.Call) {
	return func(x *engine.Context, c *engine.Call) { c.Answer(x.Server().Cluster().PauseMoves(paused)) }
}

func runRebalance(x *engine.Context, c *engine.Call) {
	dry := len(c.Args) == 3 && strings.EqualFold(string(c.Args[2]), "dryrun")
	if len(c.Args) > 2 && !dry {
		c.Fail(answer.TextSyntax)
		return
	}
	c.Answer(x.Server().Cluster().Rebalance(!dry))
}
