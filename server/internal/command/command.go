// Package command is what the server can do: one table of commands, one file
// per command or small family.
//
// A command is Parse, which is pure, and then Read, which looks at the state
// under a read lock, or Prepare, which makes a record that a door puts in order
// and applies. [Engine.Exec] takes all commands that a connection has sent,
// groups those that follow each other on one filter, and runs each group under
// one lock. Commands return [Reply] values and know nothing of protocols.
//
// The table tells name, arity, flags, keys, categories, syntax and summary of
// every command. Dispatch, arity errors, COMMAND INFO and DOCS, ACL CAT,
// statistics and docs/commands.md all come from it.
package command

import "sync/atomic"

//go:generate go run ./gendocs ../../../docs/commands.md

// Flags describe a command; their names are those of COMMAND INFO.
type Flags uint16

// The flags.
const (
	Write     Flags = 1 << iota // changes data
	ReadOnly                    // looks at data
	DenyOOM                     // refused when memory is used up
	Admin                       // for operators
	NoAuth                      // allowed without a password
	Fast                        // its time does not grow with the data
	Module                      // one of RedisBloom's
	NoMulti                     // not allowed between MULTI and EXEC
	Loading                     // works while data is loaded
	Stale                       // works on a replica that lost its master
	NoScript                    // not for scripts
	heavy                       // its reply may be large: nothing is run behind it before that is sent
	immediate                   // run at once inside MULTI instead of queued
)

var flagNames = []struct {
	flag Flags
	name string
}{
	{Write, "write"},
	{ReadOnly, "readonly"},
	{DenyOOM, "denyoom"},
	{Module, "module"},
	{Admin, "admin"},
	{NoScript, "noscript"},
	{Loading, "loading"},
	{Stale, "stale"},
	{Fast, "fast"},
	{NoAuth, "no_auth"},
	{NoMulti, "no_multi"},
}

// Names returns the names of the flags.
func (f Flags) Names() []string {
	var names []string
	for _, n := range flagNames {
		if f&n.flag != 0 {
			names = append(names, n.name)
		}
	}
	return names
}

// Keys tells where the keys of a command are: from First to Last, every Step.
// A negative Last counts from the end.
type Keys struct{ First, Last, Step int }

// oneKey is the position of almost every key.
var oneKey = Keys{1, 1, 1}

// Command describes a command, or a subcommand of one.
type Command struct {
	// Name is in lower case.
	Name string
	// Arity is the number of arguments, the name included; negative for "at
	// least". Max, if it is not 0, bounds it.
	Arity, Max int
	Flags      Flags
	Keys       Keys
	// KeyFlags tells what is done to the keys, as COMMAND INFO does.
	KeyFlags string
	// Categories are those of ACL, without @.
	Categories []string
	Tips       []string
	Group      string
	// Syntax is what follows the name.
	Syntax     string
	Summary    string
	Since      string
	Complexity string
	// Subcommands make this a container: the first argument names one.
	Subcommands []Command

	run    func(*Engine, *Session, *Call)
	filter *filter
	full   string // the name with its container: "client|list"
	stats  *stats
	subs   map[string]*Command
}

// stats counts the use of a command.
type stats struct {
	calls    atomic.Int64
	nanos    atomic.Int64
	rejected atomic.Int64 // refused before it was run
	failed   atomic.Int64 // answered an error
}

// arity reports whether n arguments are allowed, the name included.
func (c *Command) arity(n int) bool {
	if c.Max > 0 && n > c.Max {
		return false
	}
	return n == c.Arity || c.Arity < 0 && n >= -c.Arity
}

// FullName returns the name with that of its container: "client|list".
func (c *Command) FullName() string { return c.full }

// Call is a command on its way: what was sent and what is answered.
type Call struct {
	// Args are the arguments, the name included. They are valid until the
	// call is answered and written.
	Args [][]byte
	// Reply is the answer.
	Reply Reply
	// Proto is the protocol version in force when the call was answered.
	Proto uint8
	// Mute tells that the client asked not to get the reply.
	Mute bool

	cmd      *Command
	answered bool // Reply is final
	items    [][]byte
	first    int // of the items' digests in the workspace
	option   *options
}

// answer makes r the reply.
func (c *Call) answer(r Reply) {
	c.Reply = r
	c.answered = true
}
