package admin

// SAVE, BGSAVE, LASTSAVE and DEBUG RELOAD.

import (
	"errors"

	"github.com/bloomery/bloomery/server/internal/engine"

	"github.com/bloomery/bloomery/server/internal/door"
)

// save is SAVE.
var save = engine.Command{
	Name: "save", Arity: 1, Flags: engine.Admin | engine.NoScript | engine.NoMulti | engine.Outside, Categories: []string{"admin", "slow", "dangerous"}, Group: engine.GroupServer,
	Since: "1.0.0", Complexity: "O(n), n being the bytes that changed since the last snapshot",
	Summary: "Writes a snapshot and answers when it is on disk. Other clients go on.",
	Run: func(x *engine.Context, c *engine.Call) {
		if !kept(x) {
			c.Fail(textPersistence)
			return
		}
		c.Answer(saveReply(x.Snapshot(), engine.OK()))
	},
}

// bgsave is BGSAVE [SCHEDULE].
var bgsave = engine.Command{
	Name: "bgsave", Arity: -1, Max: 2, Flags: engine.Admin | engine.NoScript | engine.NoMulti | engine.Outside, Categories: []string{"admin", "slow", "dangerous"}, Group: engine.GroupServer,
	Since: "1.0.0", Syntax: "[SCHEDULE]", Complexity: "O(1)", Summary: "Begins to write a snapshot.",
	Run: func(x *engine.Context, c *engine.Call) {
		if len(c.Args) == 2 && !engine.Is(c.Args[1], "schedule") {
			c.Fail(engine.TextSyntax)
			return
		}
		if !kept(x) {
			c.Fail(textPersistence)
			return
		}
		c.Answer(saveReply(x.StartSnapshot(), engine.Word("Background saving started")))
	},
}

func saveReply(err error, ok engine.Reply) engine.Reply {
	switch {
	case err == nil:
		return ok
	case errors.Is(err, door.ErrSaving):
		return engine.Fail("ERR Background save already in progress")
	default:
		return engine.Fail("ERR " + engine.OneLine(err))
	}
}

// lastSave is LASTSAVE.
var lastSave = engine.Command{
	Name: "lastsave", Arity: 1, Flags: engine.Fast | engine.Loading | engine.Stale, Categories: []string{"admin", "fast", "dangerous"}, Group: engine.GroupServer,
	Since: "1.0.0", Complexity: "O(1)", Summary: "Returns when the last snapshot was taken, or the server was started if there is none.",
	Run: func(x *engine.Context, c *engine.Call) {
		if st, ok := x.Kept(); ok {
			c.Answer(engine.Integer(st.Saved.Unix()))
			return
		}
		c.Answer(engine.Integer(x.Facts().Started.Unix()))
	},
}

// debug is DEBUG RELOAD.
var debug = engine.Command{
	Name: "debug", Arity: -2, Group: engine.GroupServer, Since: "1.0.0", Syntax: "subcommand", Summary: "For tests and operators.",
	Categories: []string{"admin", "slow", "dangerous"},
	Subcommands: []engine.Command{{
		Name: "reload", Arity: 2, Flags: engine.Admin | engine.NoScript | engine.NoMulti | engine.Outside, Categories: []string{"admin", "slow", "dangerous"},
		Complexity: "O(n), n being the bytes of data",
		Summary:    "Writes a snapshot, reads all of it back and checks it. What is in memory stays as it is.",
		Run: func(x *engine.Context, c *engine.Call) {
			if !kept(x) {
				c.Fail(textPersistence)
				return
			}
			err := x.Snapshot()
			if err == nil {
				err = x.Verify()
			}
			c.Answer(saveReply(err, engine.OK()))
		},
	}},
}

// kept reports whether data is kept on disk.
func kept(x *engine.Context) bool {
	_, ok := x.Kept()
	return ok
}
