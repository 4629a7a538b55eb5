package answer

// Errors in the words of Redis and RedisBloom.

import "strings"

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

// NeedsUpgrade is the error for what a cluster can do only at a later level.
func NeedsUpgrade(what string) string {
	return "ERR " + what + " needs a later level of the cluster: run bloomery cluster upgrade first"
}

// OneLine returns the text of an error as an error reply can hold it.
func OneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// UnknownSubcommand is the error of a container command such as CLIENT.
func UnknownSubcommand(container string, arg []byte) Reply {
	return Fail("ERR unknown subcommand '" + Clip(arg) + "'. Try " + strings.ToUpper(container) + " HELP.")
}

// UnknownCommand is the error for a name that is no command. As Redis does, it
// quotes the first arguments until they are 128 bytes. Of a command that Redis has, it
// says what to do instead; it begins as it does in Redis, for clients that try.
func UnknownCommand(args [][]byte) Reply {
	if instead := insteadOf(args[0]); instead != "" {
		return Fail("ERR unknown command '" + Clip(args[0]) + "': " + instead)
	}
	var text strings.Builder
	text.WriteString("ERR unknown command '" + Clip(args[0]) + "', with args beginning with: ")
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

// Clip returns as much of an argument as errors quote.
func Clip(arg []byte) string { return string(arg[:min(len(arg), 128)]) }
