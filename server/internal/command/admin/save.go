package admin

// SAVE, BGSAVE, LASTSAVE and DEBUG RELOAD.

import (
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// save is SAVE.
var save = engine.Command{
	Name: "save", Arity: 1, Flags: traits.Admin | traits.NoScript | traits.NoMulti | traits.Outside, Categories: []string{"admin", "slow", "dangerous"}, Group: traits.GroupServer,
	Since: "1.0.0", Complexity: "O(n), n being the bytes that changed since the last snapshot",
	Summary: "Writes a snapshot and answers when it is on disk. Other clients go on.",
	Run: func(x *engine.Context, c *engine.Call) {
		if !x.Can().Disk {
			c.Fail(textPersistence)
			return
		}
		c.Answer(x.Server().Disk().Save())
	},
}

// bgsave is BGSAVE [SCHEDULE].
var bgsave = engine.Command{
	Name: "bgsave", Arity: -1, Max: 2, Flags: traits.Admin | traits.NoScript | traits.NoMulti | traits.Outside, Categories: []string{"admin", "slow", "dangerous"}, Group: traits.GroupServer,
	Since: "1.0.0", Syntax: "[SCHEDULE]", Complexity: "O(1)", Summary: "Begins to write a snapshot.",
	Run: func(x *engine.Context, c *engine.Call) {
		if len(c.Args) == 2 && !answer.Is(c.Args[1], "schedule") {
			c.Fail(answer.TextSyntax)
			return
		}
		if !x.Can().Disk {
			c.Fail(textPersistence)
			return
		}
		c.Answer(x.Server().Disk().SaveSoon())
	},
}

// lastSave is LASTSAVE.
var lastSave = engine.Command{
	Name: "lastsave", Arity: 1, Flags: traits.Fast | traits.Loading | traits.Stale, Categories: []string{"admin", "fast", "dangerous"}, Group: traits.GroupServer,
	Since: "1.0.0", Complexity: "O(1)", Summary: "Returns when the last snapshot was taken, or the server was started if there is none.",
	Run: func(x *engine.Context, c *engine.Call) {
		if x.Can().Disk {
			c.Answer(answer.Integer(x.Server().Disk().Status().Saved.Unix()))
			return
		}
		c.Answer(answer.Integer(x.Server().Facts().Started.Unix()))
	},
}

// debug is DEBUG RELOAD.
var debug = engine.Command{
	Name: "debug", Arity: -2, Group: traits.GroupServer, Since: "1.0.0", Syntax: "subcommand", Summary: "For tests and operators.",
	Categories: []string{"admin", "slow", "dangerous"},
	Subcommands: []engine.Command{{
		Name: "reload", Arity: 2, Flags: traits.Admin | traits.NoScript | traits.NoMulti | traits.Outside, Categories: []string{"admin", "slow", "dangerous"},
		Complexity: "O(n), n being the bytes of data",
		Summary:    "Writes a snapshot, reads all of it back and checks it. What is in memory stays as it is.",
		Run: func(x *engine.Context, c *engine.Call) {
			if !x.Can().Disk {
				c.Fail(textPersistence)
				return
			}
			c.Answer(x.Server().Disk().Verify())
		},
	}},
}
