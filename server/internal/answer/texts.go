package answer

// Errors in the words of Redis and RedisBloom.

import (
	"strings"
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

	// TextStopped is of a command that was given up: its client is gone.
	TextStopped = "ERR the command was given up: its client was closed"

	TextItemExists      = "ERR item exists"
	TextNotFound        = "ERR not found"
	TextCapacity        = "Bad capacity"
	TextUnknownArgument = "Unknown argument received"
	TextNoMemory        = "ERR Insufficient memory to create filter"
)

// WrongArity is the error for a wrong number of arguments.
func WrongArity(name string) Reply {
	return Fail("ERR wrong number of arguments for '" + name + "' command")
}

// OneLine returns the text of an error as an error reply can hold it.
func OneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
