package admin

import (
	"slices"
	"strings"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/glob"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// costOfDescription counts the description of all commands, of which any may be repeated.
func costOfDescription(x *engine.Costs, c *engine.Call) { x.Bytes(8<<20 + len(c.Args)*64<<10) }

// commandCommand is COMMAND, with its subcommands.
var commandCommand = engine.Command{
	Name: "command", Arity: -1, Flags: traits.Loading | traits.Stale, Categories: []string{"slow", "connection"}, Group: traits.GroupServer, Since: "2.8.13",
	Syntax: "[subcommand]", Complexity: "O(n), n being the number of commands", Summary: "Describes the commands.",
	Cost: costOfDescription,
	Run: func(x *engine.Context, c *engine.Call) {
		c.Answer(allInfo(x))
	},
	Subcommands: []engine.Command{
		{
			Name: "count", Arity: 2, Flags: traits.Loading | traits.Stale, Categories: []string{"slow", "connection"},
			Complexity: "O(1)", Summary: "Returns the number of commands.",
			Run: func(x *engine.Context, c *engine.Call) { c.Answer(answer.Integer(int64(len(x.Table().All())))) },
		},
		{
			Name: "docs", Arity: -2, Flags: traits.Loading | traits.Stale, Categories: []string{"slow", "connection"}, Syntax: "[command-name [command-name ...]]",
			Complexity: "O(n), n being the number of commands", Summary: "Returns what commands do and how they are called.",
			Cost: costOfDescription,
			Run:  runCommandDocs,
		},
		{
			Name: "getkeys", Arity: -3, Flags: traits.Loading | traits.Stale, Categories: []string{"slow", "connection"}, Syntax: "command [arg ...]",
			Complexity: "O(n), n being the number of arguments", Summary: "Returns the keys of a command.",
			Run: runCommandGetKeys,
		},
		{
			Name: "info", Arity: -2, Flags: traits.Loading | traits.Stale, Categories: []string{"slow", "connection"}, Syntax: "[command-name [command-name ...]]",
			Complexity: "O(n), n being the number of commands", Summary: "Describes commands.",
			Cost: costOfDescription,
			Run: func(x *engine.Context, c *engine.Call) {
				if len(c.Args) == 2 {
					c.Answer(allInfo(x))
					return
				}
				elems := []answer.Reply{}
				for _, name := range c.Args[2:] {
					if cmd := x.Table().Find(name); cmd != nil {
						elems = append(elems, commandInfo(cmd))
					} else {
						elems = append(elems, answer.Nil())
					}
				}
				c.Answer(answer.List(elems...))
			},
		},
		{
			Name: "list", Arity: -2, Flags: traits.Loading | traits.Stale, Categories: []string{"slow", "connection"},
			Syntax:     "[FILTERBY (MODULE module-name | ACLCAT category | PATTERN pattern)]",
			Complexity: "O(n), n being the number of commands", Summary: "Returns the names of the commands.",
			Cost: func(x *engine.Costs, c *engine.Call) {
				n := 0
				x.Context().Table().Walk(func(*engine.Command) { n++ })
				x.Slow()
				x.Match(c.Args[2:], n)
			},
			Run: runCommandList,
		},
	},
}

func allInfo(x *engine.Context) answer.Reply {
	elems := make([]answer.Reply, 0, len(x.Table().All()))
	for _, cmd := range x.Table().All() {
		elems = append(elems, commandInfo(cmd))
	}
	return answer.List(elems...)
}

// commandInfo is the entry of COMMAND INFO.
func commandInfo(cmd *engine.Command) answer.Reply {
	var cats, subs []answer.Reply
	for _, c := range cmd.Categories {
		if c != "delete" { // it is ours alone: clients see what RedisBloom shows
			cats = append(cats, answer.Word("@"+c))
		}
	}
	for i := range cmd.Subcommands {
		subs = append(subs, commandInfo(&cmd.Subcommands[i]))
	}
	tips := make([]answer.Reply, 0, len(cmd.Tips))
	for _, t := range cmd.Tips {
		tips = append(tips, answer.Text(t))
	}
	first, last, step := legacyKeys(cmd.Keys)
	return answer.List(
		answer.Text(cmd.FullName()), answer.Integer(int64(cmd.Arity)), answer.Unordered(answer.Words(cmd.Flags.Names())),
		answer.Integer(first), answer.Integer(last), answer.Integer(step),
		answer.Unordered(cats), answer.Unordered(tips), answer.Unordered(keySpecs(cmd)), answer.Unordered(subs),
	)
}

// legacyKeys says where keys are in the old way of COMMAND INFO, which knows one
// range.
func legacyKeys(keys traits.Keys) (first, last, step int64) {
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
func keySpecs(cmd *engine.Command) []answer.Reply {
	var specs []answer.Reply
	for _, k := range cmd.Keys {
		if k.Hidden {
			continue
		}
		begin, find := answer.Pairs(answer.Text("type"), answer.Text("index"),
			answer.Text("spec"), answer.Pairs(answer.Text("index"), answer.Integer(int64(k.First)))), findKeys(k)
		if k.At != nil {
			begin = answer.Pairs(answer.Text("type"), answer.Text("unknown"), answer.Text("spec"), answer.Pairs())
			find = begin
		}
		specs = append(specs, answer.Pairs(
			answer.Text("flags"), answer.Unordered(answer.Words(strings.Fields(k.Access))),
			answer.Text("begin_search"), begin, answer.Text("find_keys"), find,
		))
	}
	return specs
}

// findKeys says how keys go on from the first.
func findKeys(k traits.Key) answer.Reply {
	if k.Counted {
		return answer.Pairs(answer.Text("type"), answer.Text("keynum"), answer.Text("spec"), answer.Pairs(
			answer.Text("keynumidx"), answer.Integer(0), answer.Text("firstkey"), answer.Integer(1),
			answer.Text("keystep"), answer.Integer(1)))
	}
	last := k.Last
	if last > 0 {
		last -= k.First
	}
	return answer.Pairs(answer.Text("type"), answer.Text("range"), answer.Text("spec"), answer.Pairs(
		answer.Text("lastkey"), answer.Integer(int64(last)), answer.Text("keystep"), answer.Integer(int64(k.Step)),
		answer.Text("limit"), answer.Integer(0)))
}

func runCommandDocs(x *engine.Context, c *engine.Call) {
	elems := []answer.Reply{}
	add := func(cmd *engine.Command) { elems = append(elems, answer.Text(cmd.FullName()), commandDocs(cmd)) }
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
	c.Answer(answer.Pairs(elems...))
}

// commandDocs is the entry of COMMAND DOCS.
func commandDocs(cmd *engine.Command) answer.Reply {
	group := cmd.Group
	if cmd.Flags&traits.Module != 0 {
		group = "module"
	}
	elems := []answer.Reply{
		answer.Text("summary"), answer.Text(cmd.Summary), answer.Text("since"), answer.Text(cmd.Since),
		answer.Text("group"), answer.Text(group), answer.Text("complexity"), answer.Text(cmd.Complexity),
	}
	if cmd.Flags&traits.Module != 0 {
		elems = append(elems, answer.Text("module"), answer.Text("bf"))
	}
	if args := parseSyntax(cmd.Syntax); len(args) > 0 && len(cmd.Subcommands) == 0 {
		elems = append(elems, answer.Text("arguments"), answer.List(argumentReplies(args)...))
	}
	if len(cmd.Subcommands) > 0 {
		var subs []answer.Reply
		for i := range cmd.Subcommands {
			subs = append(subs, answer.Text(cmd.Subcommands[i].FullName()), commandDocs(&cmd.Subcommands[i]))
		}
		elems = append(elems, answer.Text("subcommands"), answer.Pairs(subs...))
	}
	return answer.Pairs(elems...)
}

func runCommandGetKeys(x *engine.Context, c *engine.Call) {
	args := c.Args[2:]
	cmd := x.Table().Lookup(args[0])
	if cmd != nil && len(cmd.Subcommands) > 0 && len(args) > 1 {
		cmd = cmd.Sub(answer.Lower(args[1]))
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
	keys := []answer.Reply{}
	cmd.Keys.Each(args, func(i int, k traits.Key) {
		if !k.Hidden {
			keys = append(keys, answer.Text(string(args[i])))
		}
	})
	c.Answer(answer.List(keys...))
}

func runCommandList(x *engine.Context, c *engine.Call) {
	keep := func(*engine.Command) bool { return true }
	switch args := c.Args[2:]; {
	case len(args) == 0:
	case len(args) == 3 && answer.Is(args[0], "filterby") && answer.Is(args[1], "module"):
		keep = func(cmd *engine.Command) bool { return cmd.Flags&traits.Module != 0 && string(args[2]) == "bf" }
	case len(args) == 3 && answer.Is(args[0], "filterby") && answer.Is(args[1], "aclcat"):
		keep = func(cmd *engine.Command) bool { return slices.Contains(cmd.Categories, answer.Lower(args[2])) }
	case len(args) == 3 && answer.Is(args[0], "filterby") && answer.Is(args[1], "pattern"):
		pattern := glob.New(answer.Lower(args[2]))
		keep = func(cmd *engine.Command) bool { return pattern.Match(cmd.FullName()) }
	default:
		c.Fail(answer.TextSyntax)
		return
	}
	names := []string{}
	x.Table().Walk(func(cmd *engine.Command) {
		if keep(cmd) && (len(c.Args) > 2 || !strings.Contains(cmd.FullName(), "|")) {
			names = append(names, cmd.FullName())
		}
	})
	c.Answer(answer.Texts(names))
}
