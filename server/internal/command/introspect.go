package command

import (
	"slices"
	"strings"
)

// commandCmd is COMMAND, with its subcommands.
var commandCmd = Command{
	Name: "command", Arity: -1, Flags: Loading | Stale, Categories: []string{"slow", "connection"}, Group: groupServer, Since: "2.8.13",
	Syntax: "[subcommand]", Complexity: "O(n), n being the number of commands", Summary: "Describes the commands.",
	run: func(e *Engine, _ *Session, c *Call) {
		elems := make([]Reply, 0, len(e.table.list))
		for _, cmd := range e.table.list {
			elems = append(elems, commandInfo(cmd))
		}
		c.answer(array(elems...))
	},
	Subcommands: []Command{
		{
			Name: "count", Arity: 2, Flags: Loading | Stale, Categories: []string{"slow", "connection"},
			Complexity: "O(1)", Summary: "Returns the number of commands.",
			run: func(e *Engine, _ *Session, c *Call) { c.answer(integer(int64(len(e.table.list)))) },
		},
		{
			Name: "docs", Arity: -2, Flags: Loading | Stale, Categories: []string{"slow", "connection"}, Syntax: "[command-name [command-name ...]]",
			Complexity: "O(n), n being the number of commands", Summary: "Returns what commands do and how they are called.",
			run: runCommandDocs,
		},
		{
			Name: "getkeys", Arity: -3, Flags: Loading | Stale, Categories: []string{"slow", "connection"}, Syntax: "command [arg ...]",
			Complexity: "O(n), n being the number of arguments", Summary: "Returns the keys of a command.",
			run: runCommandGetKeys,
		},
		{
			Name: "info", Arity: -2, Flags: Loading | Stale, Categories: []string{"slow", "connection"}, Syntax: "[command-name [command-name ...]]",
			Complexity: "O(n), n being the number of commands", Summary: "Describes commands.",
			run: func(e *Engine, s *Session, c *Call) {
				if len(c.Args) == 2 {
					e.table.byName["command"].run(e, s, c)
					return
				}
				elems := []Reply{}
				for _, name := range c.Args[2:] {
					if cmd := e.table.find(name); cmd != nil {
						elems = append(elems, commandInfo(cmd))
					} else {
						elems = append(elems, null())
					}
				}
				c.answer(array(elems...))
			},
		},
		{
			Name: "list", Arity: -2, Flags: Loading | Stale, Categories: []string{"slow", "connection"},
			Syntax:     "[FILTERBY (MODULE module-name | ACLCAT category | PATTERN pattern)]",
			Complexity: "O(n), n being the number of commands", Summary: "Returns the names of the commands.",
			run: runCommandList,
		},
	},
}

// find is Lookup that knows "client|list" too.
func (t *Table) find(name []byte) *Command {
	container, sub, ok := strings.Cut(lower(name), "|")
	cmd := t.byName[container]
	if cmd == nil || !ok {
		return cmd
	}
	return cmd.subs[sub]
}

// commandInfo is the entry of COMMAND INFO.
func commandInfo(cmd *Command) Reply {
	var cats, subs []Reply
	for _, c := range cmd.Categories {
		cats = append(cats, status("@"+c))
	}
	for i := range cmd.Subcommands {
		subs = append(subs, commandInfo(&cmd.Subcommands[i]))
	}
	tips := make([]Reply, 0, len(cmd.Tips))
	for _, t := range cmd.Tips {
		tips = append(tips, bulk(t))
	}
	return array(
		bulk(cmd.full), integer(int64(cmd.Arity)), unordered(statuses(cmd.Flags.Names())),
		integer(int64(cmd.Keys.First)), integer(int64(cmd.Keys.Last)), integer(int64(cmd.Keys.Step)),
		unordered(cats), unordered(tips), unordered(keySpecs(cmd)), unordered(subs),
	)
}

// keySpecs tells where keys are in the newer way of COMMAND INFO.
func keySpecs(cmd *Command) []Reply {
	k := cmd.Keys
	if k.First == 0 {
		return nil
	}
	last := k.Last
	if last > 0 {
		last -= k.First
	}
	return []Reply{pairs(
		bulk("flags"), unordered(statuses(strings.Fields(cmd.KeyFlags))),
		bulk("begin_search"), pairs(bulk("type"), bulk("index"), bulk("spec"), pairs(bulk("index"), integer(int64(k.First)))),
		bulk("find_keys"), pairs(bulk("type"), bulk("range"), bulk("spec"), pairs(
			bulk("lastkey"), integer(int64(last)), bulk("keystep"), integer(int64(k.Step)), bulk("limit"), integer(0))),
	)}
}

func runCommandDocs(e *Engine, _ *Session, c *Call) {
	elems := []Reply{}
	add := func(cmd *Command) { elems = append(elems, bulk(cmd.full), commandDocs(cmd)) }
	if len(c.Args) == 2 {
		for _, cmd := range e.table.list {
			add(cmd)
		}
	}
	for _, name := range c.Args[2:] {
		if cmd := e.table.find(name); cmd != nil {
			add(cmd)
		}
	}
	c.answer(pairs(elems...))
}

// commandDocs is the entry of COMMAND DOCS.
func commandDocs(cmd *Command) Reply {
	group := cmd.Group
	if cmd.Flags&Module != 0 {
		group = "module"
	}
	elems := []Reply{
		bulk("summary"), bulk(cmd.Summary), bulk("since"), bulk(cmd.Since),
		bulk("group"), bulk(group), bulk("complexity"), bulk(cmd.Complexity),
	}
	if cmd.Flags&Module != 0 {
		elems = append(elems, bulk("module"), bulk("bf"))
	}
	if args := parseSyntax(cmd.Syntax); len(args) > 0 && len(cmd.Subcommands) == 0 {
		elems = append(elems, bulk("arguments"), array(argumentReplies(args)...))
	}
	if len(cmd.Subcommands) > 0 {
		var subs []Reply
		for i := range cmd.Subcommands {
			subs = append(subs, bulk(cmd.Subcommands[i].full), commandDocs(&cmd.Subcommands[i]))
		}
		elems = append(elems, bulk("subcommands"), pairs(subs...))
	}
	return pairs(elems...)
}

func runCommandGetKeys(e *Engine, _ *Session, c *Call) {
	args := c.Args[2:]
	cmd := e.table.Lookup(args[0])
	if cmd != nil && cmd.subs != nil && len(args) > 1 {
		cmd = cmd.subs[lower(args[1])]
	}
	switch {
	case cmd == nil:
		c.answer(fail("ERR Invalid command specified"))
		return
	case cmd.Keys.First == 0:
		c.answer(fail("ERR The command has no key arguments"))
		return
	case !cmd.arity(len(args)):
		c.answer(fail("ERR Invalid number of arguments specified for command"))
		return
	}
	last := cmd.Keys.Last
	if last < 0 {
		last += len(args)
	}
	keys := []Reply{}
	for i := cmd.Keys.First; i <= last && i < len(args); i += cmd.Keys.Step {
		keys = append(keys, bulk(string(args[i])))
	}
	c.answer(array(keys...))
}

func runCommandList(e *Engine, _ *Session, c *Call) {
	keep := func(*Command) bool { return true }
	switch args := c.Args[2:]; {
	case len(args) == 0:
	case len(args) == 3 && is(args[0], "filterby") && is(args[1], "module"):
		keep = func(cmd *Command) bool { return cmd.Flags&Module != 0 && string(args[2]) == "bf" }
	case len(args) == 3 && is(args[0], "filterby") && is(args[1], "aclcat"):
		keep = func(cmd *Command) bool { return slices.Contains(cmd.Categories, lower(args[2])) }
	case len(args) == 3 && is(args[0], "filterby") && is(args[1], "pattern"):
		keep = func(cmd *Command) bool { return match(lower(args[2]), cmd.full) }
	default:
		c.answer(fail(textSyntax))
		return
	}
	names := []string{}
	e.table.walk(func(cmd *Command) {
		if keep(cmd) && (len(c.Args) > 2 || !strings.Contains(cmd.full, "|")) {
			names = append(names, cmd.full)
		}
	})
	c.answer(bulks(names))
}
