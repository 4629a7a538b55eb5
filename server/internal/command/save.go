package command

import (
	"errors"

	"github.com/bloomery/bloomery/server/internal/door"
)

// saveCmd is SAVE.
var saveCmd = Command{
	Name: "save", Arity: 1, Flags: Admin | NoScript | NoMulti, Categories: []string{"admin", "slow", "dangerous"}, Group: groupServer,
	Since: "1.0.0", Complexity: "O(n), n being the bytes that changed since the last snapshot",
	Summary: "Writes a snapshot and answers when it is on disk. Other clients go on.",
	run: func(e *Engine, _ *Session, c *Call) {
		if !e.kept() {
			c.answer(fail(textPersistence))
			return
		}
		c.answer(saveReply(e.keep.Snapshot(), okReply))
	},
}

// bgsaveCmd is BGSAVE [SCHEDULE].
var bgsaveCmd = Command{
	Name: "bgsave", Arity: -1, Max: 2, Flags: Admin | NoScript | NoMulti, Categories: []string{"admin", "slow", "dangerous"}, Group: groupServer,
	Since: "1.0.0", Syntax: "[SCHEDULE]", Complexity: "O(1)", Summary: "Begins to write a snapshot.",
	run: func(e *Engine, _ *Session, c *Call) {
		if len(c.Args) == 2 && !is(c.Args[1], "schedule") {
			c.answer(fail(textSyntax))
			return
		}
		if !e.kept() {
			c.answer(fail(textPersistence))
			return
		}
		c.answer(saveReply(e.keep.StartSnapshot(), status("Background saving started")))
	},
}

func saveReply(err error, ok Reply) Reply {
	switch {
	case err == nil:
		return ok
	case errors.Is(err, door.ErrSaving):
		return fail("ERR Background save already in progress")
	default:
		return fail("ERR " + oneLine(err))
	}
}

// lastSaveCmd is LASTSAVE.
var lastSaveCmd = Command{
	Name: "lastsave", Arity: 1, Flags: Fast | Loading | Stale, Categories: []string{"admin", "fast", "dangerous"}, Group: groupServer,
	Since: "1.0.0", Complexity: "O(1)", Summary: "Returns when the last snapshot was taken, or the server was started if there is none.",
	run: func(e *Engine, _ *Session, c *Call) {
		if e.kept() {
			c.answer(integer(e.keep.Status().Saved.Unix()))
			return
		}
		c.answer(integer(e.host.Facts().Started.Unix()))
	},
}

// debugCmd is DEBUG RELOAD.
var debugCmd = Command{
	Name: "debug", Arity: -2, Group: groupServer, Since: "1.0.0", Syntax: "subcommand", Summary: "For tests and operators.",
	Categories: []string{"admin", "slow", "dangerous"},
	Subcommands: []Command{{
		Name: "reload", Arity: 2, Flags: Admin | NoScript | NoMulti, Categories: []string{"admin", "slow", "dangerous"},
		Complexity: "O(n), n being the bytes of data",
		Summary:    "Writes a snapshot, reads all of it back and checks it. What is in memory stays as it is.",
		run: func(e *Engine, _ *Session, c *Call) {
			if !e.kept() {
				c.answer(fail(textPersistence))
				return
			}
			err := e.keep.Snapshot()
			if err == nil {
				err = e.keep.Verify()
			}
			c.answer(saveReply(err, okReply))
		},
	}},
}

// kept reports whether data is kept on disk.
func (e *Engine) kept() bool { return e.keep != nil && e.keep.Status().Kept }
