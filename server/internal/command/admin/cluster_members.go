package admin

// CLUSTER FORGET, REPLACE-LOG and UPGRADE: changes of the cluster itself.

import (
	"errors"
	"strings"

	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/engine"
)

var clusterMembers = []engine.Command{
	changesCluster("forget", "node", "Removes a node for ever, by its number or id. It stops, and nothing waits for it any more.", 3, runForget),
	changesCluster("replace-log", "old new", "Makes a node keep the log in the place of another, which is removed. Each call does the next step and returns whether that was the last one, and what it did; the error TRYAGAIN names what it has to wait for. Not in Redis.", 4, runReplaceLog),
	changesCluster("upgrade", "", "Allows what all nodes can do by now, and returns the level. Not in Redis.", 2, runUpgrade),
}

// changesCluster makes a subcommand of CLUSTER for operators. A server that hides its
// cluster from clients answers, too.
func changesCluster(name, syntax, summary string, arity int, run func(*engine.Context, *engine.Call, door.Members)) engine.Command {
	return engine.Command{
		Name: name, Arity: arity, Flags: engine.Admin | engine.NoScript | engine.NoMulti | engine.Stale | engine.Outside, Categories: []string{"admin", "slow", "dangerous"},
		Syntax: syntax, Complexity: "O(n), n being the number of nodes", Summary: summary,
		Run: func(x *engine.Context, c *engine.Call) {
			members := x.Members()
			if members == nil {
				c.Fail(textCluster)
				return
			}
			run(x, c, members)
		},
	}
}

// nodes reads the numbers or ids of nodes. If one is wrong it answers.
func nodes(x *engine.Context, c *engine.Call) (list []uint32) {
	s, _ := x.Cluster()
	for _, arg := range c.Args[2:] {
		number := uint32(0)
		if n, ok := engine.ParseInt(arg); ok && n > 0 && n <= int64(len(s.Nodes)) {
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

// notChanged is the error of a change that was not made, or may not have been.
func notChanged(err error) engine.Reply {
	text := engine.Cause(err)
	switch {
	case errors.Is(err, door.ErrNotYet):
		return engine.Fail("TRYAGAIN nothing was changed: " + text)
	case errors.Is(err, door.ErrUnknown):
		return engine.Fail("UNKNOWN the change may have been made or not: send the command again (" + text + ")")
	case errors.Is(err, door.ErrRefused):
		return engine.Fail("CLUSTERDOWN nothing was changed (" + text + ")")
	}
	return engine.Fail("ERR " + text)
}

func runForget(x *engine.Context, c *engine.Call, members door.Members) {
	list := nodes(x, c)
	if list == nil {
		return
	}
	if err := members.Remove(list[0]); err != nil {
		c.Answer(notChanged(err))
		return
	}
	c.Answer(engine.OK())
}

func runReplaceLog(x *engine.Context, c *engine.Call, members door.Members) {
	list := nodes(x, c)
	if list == nil {
		return
	}
	step, done, err := members.Replace(list[0], list[1])
	if err != nil {
		c.Answer(notChanged(err))
		return
	}
	c.Answer(engine.List(engine.Integer(int64(number(done))), engine.Text(step)))
}

func runUpgrade(_ *engine.Context, c *engine.Call, members door.Members) {
	level, err := members.Upgrade()
	if err != nil {
		c.Answer(notChanged(err))
		return
	}
	c.Answer(engine.Integer(int64(level)))
}
