// Package acl is ACL: the commands about users and their rights.
package acl

import (
	"slices"
	"strings"

	"github.com/bloomery/bloomery/server/internal/acl"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// Commands returns the commands about users.
func Commands() []engine.Command { return []engine.Command{command} }

const (
	usual = traits.NoScript | traits.Loading | traits.Stale
	admin = traits.Admin | usual
)

var (
	forAll    = []string{"slow"}
	forAdmins = []string{"admin", "slow", "dangerous"}
)

// command is ACL, with its subcommands.
var command = engine.Command{
	Name: "acl", Arity: -2, Group: traits.GroupServer, Since: "6.0.0", Syntax: "subcommand", Summary: "Describes and changes users and their rights.",
	Categories: forAll,
	Subcommands: []engine.Command{
		{
			Name: "cat", Arity: -2, Max: 3, Flags: usual, Categories: forAll, Syntax: "[category]",
			Complexity: "O(n), n being the number of commands", Summary: "Lists the categories, or the commands of one.",
			Run: runCat,
		},
		{
			Name: "deluser", Arity: -3, Flags: admin | traits.Outside, Categories: forAdmins, Syntax: "username [username ...]",
			Complexity: "O(n), n being the number of connections", Summary: "Deletes users and closes their connections.",
			Cost: func(x *engine.Costs, _ *engine.Call) { x.Slow(); x.Rights() },
			Run:  runDelUser,
		},
		{
			Name: "dryrun", Arity: -4, Flags: admin, Categories: forAdmins, Syntax: "username command [arg ...]", Since: "7.0.0",
			Complexity: "O(1)", Summary: "Returns OK if the user may run the command, or why not. Nothing is run.",
			Cost: func(x *engine.Costs, c *engine.Call) { x.Slow(); x.Asked(c.Args[2], c.Args[4:]) },
			Run:  runDryRun, Secret: traits.Behind(3),
		},
		{
			Name: "genpass", Arity: -2, Max: 3, Flags: usual, Categories: forAll, Syntax: "[bits]",
			Complexity: "O(1)", Summary: "Returns a random password of 256 bits, or so many.",
			Run: runGenPass,
		},
		{
			Name: "getuser", Arity: 3, Flags: admin, Categories: forAdmins, Syntax: "username",
			Complexity: "O(n), n being the number of rules", Summary: "Describes a user.",
			Cost: func(x *engine.Costs, c *engine.Call) { x.User(c.Args[2]) },
			Run:  runGetUser,
		},
		{
			Name: "list", Arity: 2, Flags: admin, Categories: forAdmins,
			Complexity: "O(n), n being the number of users", Summary: "Lists the users in the form of the file of users.",
			Cost: func(x *engine.Costs, _ *engine.Call) { x.Users() },
			Run:  func(x *engine.Context, c *engine.Call) { answerUsers(x, c, (*acl.User).String) },
		},
		{
			Name: "load", Arity: 2, Flags: admin | traits.Outside | traits.NoMulti, Categories: forAdmins,
			Complexity: "O(n), n being the number of users", Summary: "Reads the file of users, and puts it in force if no line of it is wrong.",
			Run: runLoad,
		},
		{
			Name: "log", Arity: -2, Max: 3, Flags: admin, Categories: forAdmins, Syntax: "[count | RESET]",
			Complexity: "O(n), n being the number of entries", Summary: "Returns the latest refusals: of logins, commands and keys.",
			Run: runLog,
		},
		{
			Name: "save", Arity: 2, Flags: admin | traits.Outside | traits.NoMulti, Categories: forAdmins,
			Complexity: "O(n), n being the number of users", Summary: "Writes the file of users.",
			Run: runSave,
		},
		{
			Name: "setuser", Arity: -3, Flags: admin, Categories: forAdmins, Syntax: "username [rule [rule ...]]",
			Complexity: "O(n), n being the number of rules", Summary: "Creates a user, or changes one: all rules or, if one is wrong, none.",
			Cost: func(x *engine.Costs, c *engine.Call) { x.Rules(c.Args[2], c.Args[3:]) },
			Run:  runSetUser, Secret: traits.Behind(2),
		},
		{
			Name: "users", Arity: 2, Flags: admin, Categories: forAdmins,
			Complexity: "O(n), n being the number of users", Summary: "Lists the names of the users.",
			Cost: func(x *engine.Costs, _ *engine.Call) { x.Users() },
			Run:  func(x *engine.Context, c *engine.Call) { answerUsers(x, c, (*acl.User).Name) },
		},
		{
			Name: "whoami", Arity: 2, Flags: usual, Categories: forAll,
			Complexity: "O(1)", Summary: "Returns the name of this connection's user.",
			Run: func(x *engine.Context, c *engine.Call) { c.Answer(answer.Text(x.Client().User())) },
		},
	},
}

func answerUsers(x *engine.Context, c *engine.Call, show func(*acl.User) string) {
	var lines []string
	for _, u := range x.Users().All() {
		lines = append(lines, show(u))
	}
	c.Answer(answer.Texts(lines))
}

func runCat(x *engine.Context, c *engine.Call) {
	if len(c.Args) == 2 {
		c.Answer(answer.Texts(acl.Categories()))
		return
	}
	category := answer.Lower(c.Args[2])
	if !slices.Contains(acl.Categories(), category) {
		c.Fail("ERR Unknown category '" + string(c.Args[2][:min(len(c.Args[2]), 128)]) + "'")
		return
	}
	var names []string
	x.Table().Walk(func(cmd *engine.Command) {
		if slices.Contains(cmd.Categories, category) {
			names = append(names, cmd.FullName())
		}
	})
	slices.SortFunc(names, strings.Compare)
	c.Answer(answer.Texts(names))
}
