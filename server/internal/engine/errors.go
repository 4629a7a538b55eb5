package engine

// Errors in the words of Redis and RedisBloom.

import (
	"errors"
	"strings"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/store"
)

// refused is the error for a write that could not be kept. Its code is the one
// that clients of Redis know for a server that cannot save, or for a cluster that
// takes no writes: they may send them again.
func (e *Engine) refused(err error) answer.Reply {
	if e.shared != nil && e.shared.Current() != nil {
		return e.unread(err)
	}
	if e.shared != nil {
		return answer.Fail("CLUSTERDOWN Writes are refused, reads go on (" + Cause(err) + ")")
	}
	return answer.Fail("MISCONF Writes are refused, reads go on: the log cannot be written (" + answer.OneLine(err) + ").")
}

// unread is the error for a read of a machine that has left the cluster, or may lack what
// others have; and for one that asks for what any machine has acknowledged, while nobody
// can say what that is.
func (e *Engine) unread(err error) answer.Reply {
	if errors.Is(err, door.ErrBehind) {
		return answer.Fail("LOADING " + Cause(err))
	}
	if e.shared.Current() != nil {
		return answer.Fail("CLUSTERDOWN This node no longer serves (" + Cause(err) + ")")
	}
	return answer.Fail("CLUSTERDOWN The read cannot be brought up to date; FILTER.READ LOCAL reads what is here (" + Cause(err) + ")")
}

// NoRoom reports whether the budget had too little room for a record, as it was prepared
// or while it was applied.
func NoRoom(err error) bool {
	return errors.Is(err, door.ErrMemory) || errors.Is(err, store.ErrRoom)
}

// Cause returns the text of an error of a door without its first words, which say what
// the code of the reply says, and without the names of packages.
func Cause(err error) string {
	text := answer.OneLine(err)
	for _, known := range []error{door.ErrDown, door.ErrRefused, door.ErrUnknown, door.ErrBehind} {
		text = strings.TrimPrefix(text, known.Error()+": ")
	}
	return strings.TrimPrefix(text, "cluster: ")
}

// unkept answers writes that were done but may not be on disk as they should be.
func unkept(calls []Call, err error) {
	for i := range calls {
		if c := &calls[i]; c.cmd != nil && (c.cmd.writes() || c.cmd.Name == "exec") {
			c.Reply = answer.Fail("MISCONF The write was done in memory, but it is not on disk and may be lost (" + answer.OneLine(err) + ").")
		}
	}
}

// unknownSubcommand is the error of a container command such as CLIENT.
func unknownSubcommand(container string, arg []byte) answer.Reply {
	return answer.Fail("ERR unknown subcommand '" + clip(arg) + "'. Try " + strings.ToUpper(container) + " HELP.")
}

// unknownCommand is the error for a name that is no command. As Redis does, it
// quotes the first arguments until they are 128 bytes.
func unknownCommand(args [][]byte) answer.Reply {
	var text strings.Builder
	text.WriteString("ERR unknown command '" + clip(args[0]) + "', with args beginning with: ")
	quoted := 0
	for _, a := range args[1:] {
		if quoted >= 128 {
			break
		}
		s := string(a[:min(len(a), 128-quoted)])
		text.WriteString("'" + s + "' ")
		quoted += len(s) + 3
	}
	return answer.Fail(text.String())
}

func clip(arg []byte) string { return string(arg[:min(len(arg), 128)]) }
