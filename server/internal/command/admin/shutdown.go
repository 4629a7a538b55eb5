package admin

import (
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// shutdown is SHUTDOWN. There is no reply: the connection ends, as all do.
var shutdown = engine.Command{
	Name: "shutdown", Arity: -1, Max: 4, Flags: traits.Admin | traits.NoScript | traits.NoMulti | traits.Loading | traits.Stale,
	Categories: []string{"admin", "slow", "dangerous"}, Group: traits.GroupServer, Syntax: "[NOSAVE|SAVE] [NOW] [FORCE]",
	Since: "1.0.0", Complexity: "O(n), n being the data that is not on disk yet",
	Summary: "Ends the server in order. The log has all writes, so that nothing is lost with NOSAVE either.",
	Run:     runShutdown,
}

func runShutdown(x *engine.Context, c *engine.Call) {
	seen := map[string]bool{}
	for _, a := range c.Args[1:] {
		switch word := answer.Lower(a); word {
		case "save", "nosave", "now", "force", "abort":
			seen[word] = true
		default:
			c.Fail(answer.TextSyntax)
			return
		}
	}
	switch {
	case seen["save"] && seen["nosave"], seen["abort"] && len(seen) > 1:
		c.Fail(answer.TextSyntax)
	case seen["abort"]:
		c.Fail("ERR No shutdown in progress.")
	default:
		c.Answer(answer.OK())
		c.Mute = true
		x.Server().Shutdown()
	}
}
