package engine

// Command: what the table has of each command.

import (
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// Command describes a command, or a subcommand of one, and says how it is run.
//
// A command has one of these shapes:
//
//   - Run answers at once: it looks at names and settings and changes no data;
//   - Prepare makes an Op, and Reply answers when that is settled;
//   - On is Prepare and Reply for commands on the items of one filter or sketch: calls
//     that follow each other are run together and make one record. Package bundle has
//     both.
type Command struct {
	// Name is in lower case.
	Name string
	// Arity is the number of arguments, the name included; negative for "at
	// least". Max, if it is not 0, bounds it.
	Arity, Max int
	Flags      traits.Flags
	// Keys says where keys are and what is done to them.
	Keys traits.Keys
	// Secret, if it is not nil, reports which arguments nobody may see.
	Secret traits.Secret
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
	// On, whose arguments are items, and for those that have nothing to
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
	// On is how a command on items runs.
	On Bundled
	// Split, if there is one, sets the hashes of items as a filter of several parts has them:
	// for a command all of whose arguments behind the key are items, each of which lies in one
	// part, and is answered for by itself. It reports false if that cannot be done here.
	Split func(p *contents.Part, items [][]byte, hashes []uint64) bool
	// ByHash says that a command with Split needs nothing but the hashes of its items.
	ByHash bool
	// Many, if there is one, names the command that asks for the items of several calls as this one does
	// for its own, all of its arguments behind the key: calls that follow each other are passed on as one.
	Many string

	// Lands, if there is one, returns where the key is that a call makes contents for, 0 if it
	// makes none: they have to be made where they will lie.
	Lands func(args [][]byte) int
	// Cut, if there is one, returns calls of the same command that do together what a call does which is too long to be
	// passed on, nil if there are none. They are run one after the other.
	Cut func(args [][]byte) [][][]byte
	// OnePart, if there is one, returns which part of its filter a call is about, of so many: the machines
	// that hold it can run it.
	OnePart func(args [][]byte, parts int) int
	// Assemble, if there is one, answers a call from the answers of several machines, each of
	// which has run it for the parts that are its own: see [Contents.Mine]. Such a command has
	// one key, or none, and Run.
	Assemble func(x *Context, c *Call, parts []answer.Reply) answer.Reply
	// Everyone has all machines asked that hold parts, those too that have none of their own: they
	// know something that is nobody else's.
	Everyone bool
	// Gathers says that Run has other machines run the command for their parts: see
	// [Contents.Gather]. Such a command has no keys, and is Outside.
	Gathers bool

	full  string // the name with its container: "client|list"
	quick bool   // Run is all
	gated bool   // it has to do with data that must not be stale: it runs inside the gate
	sub   bool   // of a container

	inside bool // see LooksInside
	index  int  // of its counters
	subs   map[string]*Command

	bundling Bundling // of On
}

// writes reports whether the command may change data.
func (c *Command) writes() bool { return c.Flags.Writes() }

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

// Show returns argument i of a call as logs, SLOWLOG and MONITOR show it, cut after most
// bytes: see [traits.Show]. A nil command, one that does not exist, shows its name only:
// what follows may be anything, a mistyped AUTH too.
func (c *Command) Show(args [][]byte, i, most int) string {
	if c == nil {
		return traits.Show(args, i, most, nil, traits.Behind(1))
	}
	return traits.Show(args, i, most, c.Keys, c.Secret)
}
