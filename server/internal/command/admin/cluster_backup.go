package admin

// CLUSTER BACKUP: a copy of all data that a client reads in pieces.

import (
	"errors"

	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/engine"
)

// clusterBackup is CLUSTER BACKUP OPEN [STALE], READ and CLOSE. It is what bloomery
// cluster backup sends; a server that hides its cluster from clients answers too.
var clusterBackup = engine.Command{
	Name: "backup", Arity: -3, Flags: engine.Admin | engine.NoScript | engine.NoMulti | engine.Outside, Categories: []string{"admin", "slow", "dangerous"},
	Syntax: "OPEN [STALE] | READ copy file offset length | CLOSE copy", Complexity: "O(n), n being the bytes that changed since the last snapshot, or length",
	Summary: "Makes a copy of all data and returns its number and files; returns a piece of a file; gives a copy up. Not in Redis.",
	Run: func(x *engine.Context, c *engine.Call) {
		copier := x.Copier()
		switch {
		case copier == nil:
			c.Fail(textCluster)
		case !x.ReadsAll():
			c.Fail(engine.TextNoKey)
		default:
			c.Answer(runBackup(x, copier, c.Args[2:]))
		}
	},
}

func runBackup(x *engine.Context, copier door.Copier, args [][]byte) engine.Reply {
	var numbers [4]uint64
	given := 0
	for ; given < len(numbers) && given+1 < len(args); given++ {
		n, ok := engine.ParseInt(args[given+1])
		if !ok || n < 0 {
			break
		}
		numbers[given] = uint64(n)
	}
	whole := given == len(args)-1
	switch {
	case engine.Is(args[0], "open") && len(args) == 1:
		return openBackup(x, copier, false)
	case engine.Is(args[0], "open") && len(args) == 2 && engine.Is(args[1], "stale"):
		return openBackup(x, copier, true)
	case engine.Is(args[0], "read") && whole && given == 4:
		piece, err := copier.ReadCopy(numbers[0], numbers[1], numbers[2], numbers[3])
		if err != nil {
			return engine.Fail("ERR " + engine.OneLine(err))
		}
		return engine.Text(string(piece))
	case engine.Is(args[0], "close") && whole && given == 1:
		copier.CloseCopy(numbers[0])
		return engine.OK()
	}
	return engine.Fail(engine.TextSyntax)
}

func openBackup(x *engine.Context, copier door.Copier, stale bool) engine.Reply {
	x.Waits("copy of all data")
	number, files, err := copier.OpenCopy(stale)
	switch {
	case errors.Is(err, door.ErrRefused) || errors.Is(err, door.ErrUnknown):
		return engine.Fail("CLUSTERDOWN This node cannot find out what other nodes have acknowledged (" + engine.Cause(err) + ")")
	case err != nil:
		return engine.Fail("ERR " + engine.OneLine(err))
	}
	rows := make([]engine.Reply, len(files))
	for i, f := range files {
		rows[i] = engine.List(engine.Text(f.Name), engine.Integer(f.Size))
	}
	return engine.List(engine.Integer(int64(number)), engine.List(rows...))
}
