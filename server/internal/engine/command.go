package engine

// Command: what the table has of each command.

import (
	"strings"

	"github.com/bloomery/bloomery/server/internal/acl"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/health"
	"github.com/bloomery/bloomery/server/internal/store"
)

// Flags describe a command; their names are those of COMMAND INFO.
type Flags uint32

// The flags. Those from Heavy on are not shown: they say how the engine runs a
// command.
const (
	Write      Flags = 1 << iota // changes data
	ReadOnly                     // looks at data
	DenyOOM                      // refused when memory is used up
	Admin                        // for operators
	NoAuth                       // allowed without a password
	Fast                         // its time does not grow with the data
	Module                       // one of RedisBloom's
	NoMulti                      // not allowed between MULTI and EXEC
	Loading                      // works while data is loaded
	Stale                        // works on a replica that lost its master
	NoScript                     // not for scripts
	Movable                      // the number of keys is an argument
	Heavy                        // its reply may be large: nothing is run behind it before that is sent
	Immediate                    // run at once inside MULTI instead of queued
	Outside                      // Run may take long: it is called outside the gate
	Alone                        // nothing else runs meanwhile, and recovery takes all of it or nothing
	Wrote                        // writes, although COMMAND INFO says otherwise, as RedisBloom does
	Everything                   // works on every key: only for users who may do so
	NoCluster                    // refused in a cluster
	Derived                      // its record holds what Prepare has read of another key
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
	{Movable, "movablekeys"},
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

// Groups of commands, as COMMAND DOCS and docs/commands.md name them.
const (
	GroupBloom      = "bf"
	GroupCuckoo     = "cf"
	GroupFilter     = "filter"
	GroupCountMin   = "cms"
	GroupTopK       = "topk"
	GroupTDigest    = "tdigest"
	GroupConnection = "connection"
	GroupGeneric    = "generic"
	GroupServer     = "server"
	GroupString     = "string"
	GroupMulti      = "transactions"
	GroupCluster    = "cluster"
	GroupScripting  = "scripting"
	GroupPubSub     = "pubsub"
)

// What a command does to its keys, in the words of COMMAND INFO.
const (
	KeyRW     = "RW"
	KeyRO     = "RO"
	KeyGet    = "RO access"
	KeyUpdate = "RW access update"
	KeyDelete = "RM delete"
	KeyOW     = "OW update"
	KeyNew    = "OW insert"
	KeyTake   = "RW access delete"
	KeyChange = "RW update"
	KeyAppend = "RW insert"
)

// Keys says where keys of a command are, from First to Last, every Step, and
// what is done to them. A negative Last counts from the end.
type Keys struct {
	First, Last, Step int
	Access            string
	// Counted reports that the argument at First is the number of keys, which
	// follow it; Last does not count.
	Counted bool
	// At, if it is not nil, returns where the one key is, 0 if there is none; First,
	// Last and Step do not count.
	At func(args [][]byte) int
	// Hidden reports that COMMAND does not show them, as RedisBloom's does not.
	Hidden bool

	needs acl.Access // what a user must have on them
}

// span returns where keys are among args: from first to last, every step. There are
// none if last is less than first.
func (k *Keys) span(args [][]byte) (first, last, step int) {
	if k.At != nil {
		if i := k.At(args); i > 0 {
			return i, i, 1
		}
		return 0, -1, 1
	}
	if !k.Counted {
		if last = k.Last; last < 0 {
			last += len(args)
		}
		return k.First, min(last, len(args)-1), k.Step
	}
	if k.First >= len(args) {
		return 0, -1, 1
	}
	n, ok := answer.ParseInt(args[k.First])
	if !ok || n < 1 || n > int64(len(args)-k.First-1) {
		return 0, -1, 1
	}
	return k.First + 1, k.First + int(n), 1
}

// OneKey is the position of almost every key.
func OneKey(access string) []Keys { return []Keys{KeyAt(1, access)} }

// KeyAt is the position of one key.
func KeyAt(i int, access string) Keys { return Keys{First: i, Last: i, Step: 1, Access: access} }

// AllKeys are the positions of a command all of whose arguments are keys.
func AllKeys(access string) []Keys {
	return []Keys{{First: 1, Last: -1, Step: 1, Access: access}}
}

// access returns what a user must have on keys of a command. KeyRW alone is both, since
// the answer shows what was there: BF.ADD reports whether the item is new.
func (k *Keys) access(c *Command) (a acl.Access) {
	only := strings.HasPrefix(k.Access, KeyRO)
	if only || k.Access == KeyRW || strings.Contains(k.Access, "access") {
		a = acl.Read
	}
	if !only && (c.writes() || k.Access != KeyRW) { // RedisBloom has KeyRW for SCANDUMP, which only reads
		a |= acl.Write
	}
	return a
}

// Command describes a command, or a subcommand of one, and says how it is run.
//
// A command has one of these shapes:
//
//   - Run answers at once: it looks at names and settings and changes no data;
//   - Prepare makes an Op, and Reply answers when that is settled;
//   - Filter is Prepare and Reply for commands on the items of one filter: those
//     that follow each other are hashed together and make one record. Sketch is
//     the same for sketches.
type Command struct {
	// Name is in lower case.
	Name string
	// Arity is the number of arguments, the name included; negative for "at
	// least". Max, if it is not 0, bounds it.
	Arity, Max int
	Flags      Flags
	// Keys says where keys are and what is done to them.
	Keys []Keys
	// Secret, if it is not nil, reports which arguments nobody may see.
	Secret func(args [][]byte) (from, to int)
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

	// Cost says what a call of the command touches, besides its arguments, in a
	// transaction. It looks at the arguments alone. Nil is right for commands with
	// Filter or Sketch, whose arguments are items, and for those that have nothing to
	// do with data.
	Cost func(*Costs, *Call)

	// Also, if there is one, answers a call that its user may not make because of what
	// keys and arguments hold. It is for ACL DRYRUN, and does nothing else: the command
	// asks the same when it is run.
	Also func(*Context, *Call)

	// Before, if there is one, is called outside the gate before Prepare: the
	// long part of a write. It may answer, and then that is all. After is
	// called, outside the gate too, when a call that Before has seen is
	// answered, or never will be.
	Before, After func(*Context, *Call)
	// Run answers.
	Run func(*Context, *Call)
	// Prepare makes the record of a write, or answers and returns nil.
	Prepare func(*Context, *Call) *Op
	// Reply answers when the record is settled. A call that it leaves without
	// an answer is prepared again.
	Reply func(*Call, *store.Result)
	// Filter is how a command on one filter runs, Sketch one on a sketch.
	Filter *OnFilter
	Sketch *OnSketch

	full  string // the name with its container: "client|list"
	quick bool   // Run is all
	gated bool   // it has to do with data: it runs inside the gate
	sub   bool   // of a container
	index int    // of its counters
	work  health.Work
	subs  map[string]*Command

	on      bundled // Filter or Sketch
	family  *Family
	most    int  // items of a bundle, before what they are on is known
	records bool // its calls make records
	adds    bool // it adds items
}

// writes reports whether the command may change data.
func (c *Command) writes() bool { return c.Flags&(Write|Wrote) != 0 }

// Takes reports whether n arguments are allowed, the name included.
func (c *Command) Takes(n int) bool {
	if c.Max > 0 && n > c.Max {
		return false
	}
	return n == c.Arity || c.Arity < 0 && n >= -c.Arity
}

// FullName returns the name with that of its container: "client|list".
func (c *Command) FullName() string { return c.full }

// Sub returns the subcommand of a name in lower case, nil if there is none.
func (c *Command) Sub(name string) *Command { return c.subs[name] }

// EachKey calls f with the index of every key in args, and what is done to it.
func (c *Command) EachKey(args [][]byte, f func(i int, k Keys)) {
	for j := range c.Keys {
		first, last, step := c.Keys[j].span(args)
		for i := first; i <= last; i += step {
			f(i, c.Keys[j])
		}
	}
}
