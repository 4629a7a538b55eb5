package admin

// CLUSTER BACKUP: a copy of all data that a client reads in pieces.

import (
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/control"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// clusterBackup is CLUSTER BACKUP OPEN [STALE], READ and CLOSE. It is what bloomery
// cluster backup sends; a server that hides its cluster from clients answers too.
var clusterBackup = engine.Command{
	Name: "backup", Arity: -3, Flags: traits.Admin | traits.NoScript | traits.NoMulti | traits.Outside, Categories: []string{"admin", "slow", "dangerous"},
	Since: "0.1.0", Syntax: "OPEN [STALE] | READ copy file offset length | CLOSE copy", Complexity: "O(n), n being the bytes that changed since the last snapshot, or length",
	Summary: "Makes a copy of all data and returns its number and files; returns a piece of a file; gives a copy up, as the end of its connection does. Not in Redis.",
	Run: func(x *engine.Context, c *engine.Call) {
		switch {
		case !x.Can().Cluster:
			c.Fail(control.TextNoCluster)
		case !x.Server().ReadsAll():
			c.Fail(engine.TextNoKey)
		default:
			c.Answer(runBackup(x.Server(), c.Args[2:]))
		}
	},
}

func runBackup(x engine.Server, args [][]byte) answer.Reply {
	var numbers [4]uint64
	given := 0
	for ; given < len(numbers) && given+1 < len(args); given++ {
		n, ok := answer.ParseInt(args[given+1])
		if !ok || n < 0 {
			break
		}
		numbers[given] = uint64(n)
	}
	whole := given == len(args)-1
	switch {
	case answer.Is(args[0], "open") && len(args) == 1:
		return x.Cluster().OpenCopy(false, x.OwnCopy)
	case answer.Is(args[0], "open") && len(args) == 2 && answer.Is(args[1], "stale"):
		return x.Cluster().OpenCopy(true, x.OwnCopy)
	case answer.Is(args[0], "read") && whole && given == 4:
		return x.Cluster().ReadCopy(numbers[0], numbers[1], numbers[2], numbers[3])
	case answer.Is(args[0], "close") && whole && given == 1:
		return x.Cluster().CloseCopy(numbers[0])
	}
	return answer.Fail(answer.TextSyntax)
}
