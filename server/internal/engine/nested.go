package engine

import "github.com/bloomery/bloomery/server/internal/answer"

// Commands that run as a part of another.

// Nested runs a command on the items of a filter as a part of the one that is being
// run, and returns its reply: what works on filters of every kind asks each by its
// own command. It is counted nowhere. The caller's command runs outside the gate.
func (x Contents) Nested(args ...[]byte) answer.Reply {
	e, s := x.e, x.s
	e.leave(s)
	calls := []Call{{Args: args, cmd: e.table.Lookup(args[0])}}
	e.runBundle(s, calls)
	e.settle(s)
	e.leave(s)
	return calls[0].Reply
}
