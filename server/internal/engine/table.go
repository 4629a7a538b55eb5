package engine

// Table: the commands by name.

import (
	"slices"
	"strings"

	"github.com/bloomery/bloomery/server/internal/acl"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/health"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// Table is the commands by name. Make it with NewTable.
//
// Safe for concurrent use.
type Table struct {
	list   []*Command
	byName map[string]*Command
	// byRaw also holds the names in upper case, the way most clients send
	// them.
	byRaw    map[string]*Command
	families map[catalog.Kind]*Family
	count    int // of commands and subcommands
	rules    *acl.Commands
}

// NewTable returns a table of commands.
func NewTable(commands []Command) *Table {
	t := &Table{
		byName: map[string]*Command{}, byRaw: map[string]*Command{}, families: map[catalog.Kind]*Family{},
	}
	for _, c := range commands {
		t.add(c)
	}
	slices.SortFunc(t.list, func(a, b *Command) int { return strings.Compare(a.Name, b.Name) })
	var rules []acl.Command
	t.Walk(func(c *Command) {
		rules = append(rules, acl.Command{Name: c.full, Index: c.index, Categories: c.Categories})
	})
	t.rules = acl.NewCommands(rules)
	return t
}

// CheckUsers reports the first line that is wrong in the data of a file of users.
func (t *Table) CheckUsers(file string, data []byte) error {
	_, err := acl.Parse(t.rules, file, data)
	return err
}

func (t *Table) add(c Command) {
	cmd := &c
	cmd.full = c.Name
	t.number(cmd)
	if len(c.Subcommands) > 0 {
		subs := slices.Concat(c.Subcommands, []Command{helpFor(c)})
		slices.SortFunc(subs, func(a, b Command) int { return strings.Compare(a.Name, b.Name) })
		cmd.Subcommands = subs
		cmd.subs = make(map[string]*Command, len(subs))
		for i := range subs {
			s := &subs[i]
			s.full, s.Group = c.Name+"|"+s.Name, c.Group
			if s.Since == "" {
				s.Since = c.Since
			}
			s.sub = true
			t.number(s)
			cmd.subs[s.Name] = s
		}
	}
	for _, f := range []*Family{cmd.bundling.Family, cmd.bundling.Layers} {
		if f != nil {
			t.families[f.Kind] = f
		}
	}
	t.list = append(t.list, cmd)
	t.byName[c.Name] = cmd
	t.byRaw[c.Name] = cmd
	t.byRaw[strings.ToUpper(c.Name)] = cmd
}

func (t *Table) number(c *Command) {
	c.quick = c.Run != nil && c.Before == nil && c.Flags&(traits.Outside|traits.Alone) == 0
	c.inside = c.LooksInside()
	c.gated = c.writes() || c.Flags&traits.Stale == 0 && (len(c.Keys) > 0 || c.Flags&traits.ReadOnly != 0)
	c.index = t.count
	c.bundling.Work = health.Other
	if c.On != nil {
		c.bundling = c.On.Bundling()
	}
	c.Keys = c.Keys.For(c.Flags)
	t.count++
}

// Lookup returns the command of a name in letters of any case, nil if there is
// none.
func (t *Table) Lookup(name []byte) *Command {
	if c := t.byRaw[string(name)]; c != nil {
		return c
	}
	const longest = 32 // no name is longer
	if len(name) > longest {
		return nil
	}
	var low [longest]byte
	for i, c := range name {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		low[i] = c
	}
	return t.byName[string(low[:len(name)])]
}

// resolve returns the command or the subcommand of a call, nil if there is none.
func (t *Table) resolve(args [][]byte) *Command {
	cmd := t.Lookup(args[0])
	if cmd != nil && cmd.subs != nil && len(args) > 1 {
		return cmd.subs[answer.Lower(args[1])]
	}
	return cmd
}

// Find is Lookup that knows "client|list" too.
func (t *Table) Find(name []byte) *Command {
	container, sub, ok := strings.Cut(answer.Lower(name), "|")
	cmd := t.byName[container]
	if cmd == nil || !ok {
		return cmd
	}
	return cmd.subs[sub]
}

// All returns the commands in the order of their names.
func (t *Table) All() []*Command { return t.list }

// Walk calls f for every command and subcommand.
func (t *Table) Walk(f func(*Command)) {
	for _, c := range t.list {
		f(c)
		for i := range c.Subcommands {
			f(&c.Subcommands[i])
		}
	}
}

// Family returns what the commands on filters of a kind share, nil if there are
// none.
func (t *Table) Family(k catalog.Kind) *Family { return t.families[k] }

// Families calls f for every family.
func (t *Table) Families(f func(*Family)) {
	for _, v := range t.families {
		f(v)
	}
}

// helpFor makes the subcommand HELP of a container from its other subcommands.
func helpFor(c Command) Command {
	return Command{
		Name: "help", Arity: 2, Flags: traits.Loading | traits.Stale, Categories: c.Categories,
		Summary: "Lists the subcommands.", Complexity: "O(1)",
		Run: func(_ *Context, call *Call) {
			lines := []string{strings.ToUpper(c.Name) + " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"}
			for _, s := range c.Subcommands {
				lines = append(lines, strings.TrimSpace(strings.ToUpper(s.Name)+" "+s.Syntax), "    "+s.Summary)
			}
			lines = append(lines, "HELP", "    Lists the subcommands.")
			call.Answer(answer.List(answer.Words(lines)...))
		},
	}
}
