package admin

import (
	"slices"
	"strings"

	"github.com/bloomery/bloomery/server/internal/engine"
)

// commandCommand is COMMAND, with its subcommands.
var commandCommand = engine.Command{
	Name: "command", Arity: -1, Flags: engine.Loading | engine.Stale, Categories: []string{"slow", "connection"}, Group: engine.GroupServer, Since: "2.8.13",
	Syntax: "[subcommand]", Complexity: "O(n), n being the number of commands", Summary: "Describes the commands.",
	Run: func(x *engine.Context, c *engine.Call) {
		c.Answer(allInfo(x))
	},
	Subcommands: []engine.Command{
		{
			Name: "count", Arity: 2, Flags: engine.Loading | engine.Stale, Categories: []string{"slow", "connection"},
			Complexity: "O(1)", Summary: "Returns the number of commands.",
			Run: func(x *engine.Context, c *engine.Call) { c.Answer(engine.Integer(int64(len(x.Table().All())))) },
		},
		{
			Name: "docs", Arity: -2, Flags: engine.Loading | engine.Stale, Categories: []string{"slow", "connection"}, Syntax: "[command-name [command-name ...]]",
			Complexity: "O(n), n being the number of commands", Summary: "Returns what commands do and how they are called.",
			Run: runCommandDocs,
		},
		{
			Name: "getkeys", Arity: -3, Flags: engine.Loading | engine.Stale, Categories: []string{"slow", "connection"}, Syntax: "command [arg ...]",
			Complexity: "O(n), n being the number of arguments", Summary: "Returns the keys of a command.",
			Run: runCommandGetKeys,
		},
		{
			Name: "info", Arity: -2, Flags: engine.Loading | engine.Stale, Categories: []string{"slow", "connection"}, Syntax: "[command-name [command-name ...]]",
			Complexity: "O(n), n being the number of commands", Summary: "Describes commands.",
			Run: func(x *engine.Context, c *engine.Call) {
				if len(c.Args) == 2 {
					c.Answer(allInfo(x))
					return
				}
				elems := []engine.Reply{}
				for _, name := range c.Args[2:] {
					if cmd := x.Table().Find(name); cmd != nil {
						elems = append(elems, commandInfo(cmd))
					} else {
						elems = append(elems, engine.Nil())
					}
				}
				c.Answer(engine.List(elems...))
			},
		},
		{
			Name: "list", Arity: -2, Flags: engine.Loading | engine.Stale, Categories: []string{"slow", "connection"},
			Syntax:     "[FILTERBY (MODULE module-name | ACLCAT category | PATTERN pattern)]",
			Complexity: "O(n), n being the number of commands", Summary: "Returns the names of the commands.",
			Run: runCommandList,
		},
	},
}

func allInfo(x *engine.Context) engine.Reply {
	elems := make([]engine.Reply, 0, len(x.Table().All()))
	for _, cmd := range x.Table().All() {
		elems = append(elems, commandInfo(cmd))
	}
	return engine.List(elems...)
}

// commandInfo is the entry of COMMAND INFO.
func commandInfo(cmd *engine.Command) engine.Reply {
	var cats, subs []engine.Reply
	for _, c := range cmd.Categories {
		if c != "delete" { // it is ours alone: clients see what RedisBloom shows
			cats = append(cats, engine.Word("@"+c))
		}
	}
	for i := range cmd.Subcommands {
		subs = append(subs, commandInfo(&cmd.Subcommands[i]))
	}
	tips := make([]engine.Reply, 0, len(cmd.Tips))
	for _, t := range cmd.Tips {
		tips = append(tips, engine.Text(t))
	}
	first, last, step := legacyKeys(cmd.Keys)
	return engine.List(
		engine.Text(cmd.FullName()), engine.Integer(int64(cmd.Arity)), engine.Unordered(engine.Words(cmd.Flags.Names())),
		engine.Integer(first), engine.Integer(last), engine.Integer(step),
		engine.Unordered(cats), engine.Unordered(tips), engine.Unordered(keySpecs(cmd)), engine.Unordered(subs),
	)
}

// legacyKeys says where keys are in the old way of COMMAND INFO, which knows one
// range.
func legacyKeys(keys []engine.Keys) (first, last, step int64) {
	for _, k := range keys {
		if k.Counted || k.Hidden || k.At != nil {
			continue
		}
		if first == 0 {
			first, step = int64(k.First), int64(k.Step)
		}
		last = int64(k.Last)
	}
	return first, last, step
}

// keySpecs says where keys are in the newer way of COMMAND INFO.
func keySpecs(cmd *engine.Command) []engine.Reply {
	var specs []engine.Reply
	for _, k := range cmd.Keys {
		if k.Hidden {
			continue
		}
		begin, find := engine.Pairs(engine.Text("type"), engine.Text("index"),
			engine.Text("spec"), engine.Pairs(engine.Text("index"), engine.Integer(int64(k.First)))), findKeys(k)
		if k.At != nil {
			begin = engine.Pairs(engine.Text("type"), engine.Text("unknown"), engine.Text("spec"), engine.Pairs())
			find = begin
		}
		specs = append(specs, engine.Pairs(
			engine.Text("flags"), engine.Unordered(engine.Words(strings.Fields(k.Access))),
			engine.Text("begin_search"), begin, engine.Text("find_keys"), find,
		))
	}
	return specs
}

// findKeys says how keys go on from the first.
func findKeys(k engine.Keys) engine.Reply {
	if k.Counted {
		return engine.Pairs(engine.Text("type"), engine.Text("keynum"), engine.Text("spec"), engine.Pairs(
			engine.Text("keynumidx"), engine.Integer(0), engine.Text("firstkey"), engine.Integer(1),
			engine.Text("keystep"), engine.Integer(1)))
	}
	last := k.Last
	if last > 0 {
		last -= k.First
	}
	return engine.Pairs(engine.Text("type"), engine.Text("range"), engine.Text("spec"), engine.Pairs(
		engine.Text("lastkey"), engine.Integer(int64(last)), engine.Text("keystep"), engine.Integer(int64(k.Step)),
		engine.Text("limit"), engine.Integer(0)))
}

func runCommandDocs(x *engine.Context, c *engine.Call) {
	elems := []engine.Reply{}
	add := func(cmd *engine.Command) { elems = append(elems, engine.Text(cmd.FullName()), commandDocs(cmd)) }
	if len(c.Args) == 2 {
		for _, cmd := range x.Table().All() {
			add(cmd)
		}
	}
	for _, name := range c.Args[2:] {
		if cmd := x.Table().Find(name); cmd != nil {
			add(cmd)
		}
	}
	c.Answer(engine.Pairs(elems...))
}

// commandDocs is the entry of COMMAND DOCS.
func commandDocs(cmd *engine.Command) engine.Reply {
	group := cmd.Group
	if cmd.Flags&engine.Module != 0 {
		group = "module"
	}
	elems := []engine.Reply{
		engine.Text("summary"), engine.Text(cmd.Summary), engine.Text("since"), engine.Text(cmd.Since),
		engine.Text("group"), engine.Text(group), engine.Text("complexity"), engine.Text(cmd.Complexity),
	}
	if cmd.Flags&engine.Module != 0 {
		elems = append(elems, engine.Text("module"), engine.Text("bf"))
	}
	if args := parseSyntax(cmd.Syntax); len(args) > 0 && len(cmd.Subcommands) == 0 {
		elems = append(elems, engine.Text("arguments"), engine.List(argumentReplies(args)...))
	}
	if len(cmd.Subcommands) > 0 {
		var subs []engine.Reply
		for i := range cmd.Subcommands {
			subs = append(subs, engine.Text(cmd.Subcommands[i].FullName()), commandDocs(&cmd.Subcommands[i]))
		}
		elems = append(elems, engine.Text("subcommands"), engine.Pairs(subs...))
	}
	return engine.Pairs(elems...)
}

func runCommandGetKeys(x *engine.Context, c *engine.Call) {
	args := c.Args[2:]
	cmd := x.Table().Lookup(args[0])
	if cmd != nil && len(cmd.Subcommands) > 0 && len(args) > 1 {
		cmd = cmd.Sub(engine.Lower(args[1]))
	}
	switch {
	case cmd == nil:
		c.Fail("ERR Invalid command specified")
		return
	case len(cmd.Keys) == 0:
		c.Fail("ERR The command has no key arguments")
		return
	case !cmd.Takes(len(args)):
		c.Fail("ERR Invalid number of arguments specified for command")
		return
	}
	keys := []engine.Reply{}
	cmd.EachKey(args, func(i int, k engine.Keys) {
		if !k.Hidden {
			keys = append(keys, engine.Text(string(args[i])))
		}
	})
	c.Answer(engine.List(keys...))
}

func runCommandList(x *engine.Context, c *engine.Call) {
	keep := func(*engine.Command) bool { return true }
	switch args := c.Args[2:]; {
	case len(args) == 0:
	case len(args) == 3 && engine.Is(args[0], "filterby") && engine.Is(args[1], "module"):
		keep = func(cmd *engine.Command) bool { return cmd.Flags&engine.Module != 0 && string(args[2]) == "bf" }
	case len(args) == 3 && engine.Is(args[0], "filterby") && engine.Is(args[1], "aclcat"):
		keep = func(cmd *engine.Command) bool { return slices.Contains(cmd.Categories, engine.Lower(args[2])) }
	case len(args) == 3 && engine.Is(args[0], "filterby") && engine.Is(args[1], "pattern"):
		keep = func(cmd *engine.Command) bool { return engine.Match(engine.Lower(args[2]), cmd.FullName()) }
	default:
		c.Fail(engine.TextSyntax)
		return
	}
	names := []string{}
	x.Table().Walk(func(cmd *engine.Command) {
		if keep(cmd) && (len(c.Args) > 2 || !strings.Contains(cmd.FullName(), "|")) {
			names = append(names, cmd.FullName())
		}
	})
	c.Answer(engine.Texts(names))
}
