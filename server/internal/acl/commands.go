package acl

// Commands and categories as rules see them.

import (
	"slices"
	"strings"
)

// all is the category that every command is in.
const all = "all"

// Categories returns the names of all categories: those of Redis 7.4, RedisBloom's
// behind them, and ours. Some of them have no command here; rules may name them.
func Categories() []string {
	return []string{
		"keyspace", "read", "write", "set", "sortedset", "list", "hash", "string", "bitmap", "hyperloglog", "geo", "stream",
		"pubsub", "admin", "fast", "slow", "blocking", "dangerous", "connection", "transaction", "scripting",
		"bloom", "cuckoo", "cms", "topk", "tdigest",
		"filter", "delete",
	}
}

// Command is a command as rules see it. Name is in lower case, with that of its
// container: "client|list".
type Command struct {
	Name       string
	Index      int
	Categories []string
}

// Commands is the commands that rules are about. Make it with NewCommands.
//
// Safe for concurrent use.
type Commands struct {
	everything Set
	names      map[string]Set // of a container: with its subcommands
	categories map[string]Set
}

// NewCommands returns the commands of a table. Their indexes are from 0 on, without
// gaps.
func NewCommands(list []Command) *Commands {
	c := &Commands{everything: newSet(len(list)), names: map[string]Set{}, categories: map[string]Set{}}
	for _, name := range Categories() {
		c.categories[name] = newSet(len(list))
	}
	for _, cmd := range list {
		c.everything.add(cmd.Index)
		c.name(cmd.Name, len(list)).add(cmd.Index)
		if container, _, ok := strings.Cut(cmd.Name, "|"); ok {
			c.name(container, len(list)).add(cmd.Index)
		}
		for _, category := range cmd.Categories {
			if set, ok := c.categories[category]; ok {
				set.add(cmd.Index)
			}
		}
	}
	return c
}

func (c *Commands) name(name string, count int) Set {
	if c.names[name] == nil {
		c.names[name] = newSet(count)
	}
	return c.names[name]
}

// container reports whether a command has subcommands.
func (c *Commands) container(name string) bool {
	for other := range c.names {
		if strings.HasPrefix(other, name+"|") {
			return true
		}
	}
	return false
}

// target returns the commands that a rule such as +get, -@read or +client|list is
// about. The text says what is wrong with the rule, and is "" if nothing is.
func (c *Commands) target(rule string) (set Set, text string) {
	if category, ok := strings.CutPrefix(rule[1:], "@"); ok {
		if set, ok = c.categories[category]; !ok {
			return nil, textUnknown
		}
		return set, ""
	}
	name := rule[1:]
	if set, ok := c.names[name]; ok {
		return set, ""
	}
	command, argument, ok := strings.Cut(name, "|")
	switch {
	case !ok || c.names[command] == nil || rule[0] == '-':
		return nil, textUnknown
	case argument == "":
		return nil, textSyntax
	case c.container(command) && strings.Contains(argument, "|"):
		return nil, textThird
	case c.container(command):
		return nil, textUnknown
	}
	return nil, textArgument
}

// clone returns a copy of a set.
func (s Set) clone() Set { return slices.Clone(s) }
