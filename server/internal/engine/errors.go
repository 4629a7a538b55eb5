package engine

// Errors in the words of Redis and RedisBloom.

import (
	"errors"
	"strings"

	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/door"
)

// What Redis and RedisBloom say when they refuse, byte for byte, as far as
// several packages of commands need it. Many texts of RedisBloom have no code in
// front.
const (
	TextSyntax    = "ERR syntax error"
	TextInteger   = "ERR value is not an integer or out of range"
	TextNoSuchKey = "ERR no such key"
	TextWrongType = "WRONGTYPE Operation against a key holding the wrong kind of value"
	TextOOM       = "OOM command not allowed when used memory > 'maxmemory'."
	TextNoAuth    = "NOAUTH Authentication required."
	TextExpire    = "ERR invalid expire time in '"
	TextExecAbort = "EXECABORT Transaction discarded because of previous errors."
	TextDB        = "ERR DB index is out of range"

	TextItemExists      = "ERR item exists"
	TextNotFound        = "ERR not found"
	TextCapacity        = "Bad capacity"
	TextUnknownArgument = "Unknown argument received"
	TextNoMemory        = "ERR Insufficient memory to create filter"
)

// refused is the error for a write that could not be kept. Its code is the one
// that clients of Redis know for a server that cannot save, or for a cluster that
// takes no writes: they may send them again.
func (e *Engine) refused(err error) Reply {
	if e.shared != nil && e.shared.Current() != nil {
		return e.unread(err)
	}
	if e.shared != nil {
		return Fail("CLUSTERDOWN Writes are refused, reads go on (" + Cause(err) + ")")
	}
	return Fail("MISCONF Writes are refused, reads go on: the log cannot be written (" + OneLine(err) + ").")
}

// unread is the error for a read of a machine that has left the cluster, or may lack what
// others have; and for one that asks for what any machine has acknowledged, while nobody
// can say what that is.
func (e *Engine) unread(err error) Reply {
	if errors.Is(err, door.ErrBehind) {
		return Fail("LOADING " + Cause(err))
	}
	if e.shared.Current() != nil {
		return Fail("CLUSTERDOWN This node no longer serves (" + Cause(err) + ")")
	}
	return Fail("CLUSTERDOWN The read cannot be brought up to date; FILTER.READ LOCAL reads what is here (" + Cause(err) + ")")
}

// NoRoom reports whether the budget had too little room for a record, as it was prepared
// or while it was applied.
func NoRoom(err error) bool {
	return errors.Is(err, door.ErrMemory) || errors.Is(err, redisbloom.ErrBudget)
}

// OneLine returns the text of an error as an error reply can hold it.
func OneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// Cause returns the text of an error of a door without its first words, which say what
// the code of the reply says, and without the names of packages.
func Cause(err error) string {
	text := OneLine(err)
	for _, known := range []error{door.ErrDown, door.ErrRefused, door.ErrUnknown, door.ErrBehind} {
		text = strings.TrimPrefix(text, known.Error()+": ")
	}
	return strings.TrimPrefix(text, "cluster: ")
}

// unkept answers writes that were done but may not be on disk as they should be.
func unkept(calls []Call, err error) {
	for i := range calls {
		if c := &calls[i]; c.cmd != nil && (c.cmd.writes() || c.cmd.Name == "exec") {
			c.Reply = Fail("MISCONF The write was done in memory, but it is not on disk and may be lost (" + OneLine(err) + ").")
		}
	}
}

// WrongArity is the error for a wrong number of arguments.
func WrongArity(name string) Reply {
	return Fail("ERR wrong number of arguments for '" + name + "' command")
}

// unknownSubcommand is the error of a container command such as CLIENT.
func unknownSubcommand(container string, arg []byte) Reply {
	return Fail("ERR unknown subcommand '" + clip(arg) + "'. Try " + strings.ToUpper(container) + " HELP.")
}

// unknownCommand is the error for a name that is no command. As Redis does, it
// quotes the first arguments until they are 128 bytes.
func unknownCommand(args [][]byte) Reply {
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
	return Fail(text.String())
}

func clip(arg []byte) string { return string(arg[:min(len(arg), 128)]) }
