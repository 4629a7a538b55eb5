package command

import (
	"slices"
	"strings"
)

// Groups of commands, as COMMAND DOCS and docs/commands.md name them.
const (
	groupBloom      = "bf"
	groupCuckoo     = "cf"
	groupConnection = "connection"
	groupGeneric    = "generic"
	groupServer     = "server"
	groupString     = "string"
	groupMulti      = "transactions"
	groupCluster    = "cluster"
)

// What a command does to its keys, in the words of COMMAND INFO.
const (
	keyRW     = "RW"
	keyRO     = "RO"
	keyUpdate = "RW access update"
	keyDelete = "RM delete"
	keyOW     = "OW update"
)

// Table is the commands by name. Make it with NewTable.
//
// Safe for concurrent use.
type Table struct {
	list   []*Command
	byName map[string]*Command
	// byRaw also holds the names in upper case, the way most clients send
	// them.
	byRaw map[string]*Command
}

// NewTable returns all commands, with counters of their own.
func NewTable() *Table {
	t := &Table{byName: map[string]*Command{}, byRaw: map[string]*Command{}}
	for _, c := range all() {
		t.add(c)
	}
	slices.SortFunc(t.list, func(a, b *Command) int { return strings.Compare(a.Name, b.Name) })
	return t
}

// all returns every command.
func all() []Command {
	return slices.Concat(
		[]Command{
			bfAdd, bfCard, bfDebug, bfExists, bfInfo, bfInsert, bfLoadChunk, bfMAdd, bfMExists, bfReserve, bfScanDump,
			cfAdd, cfAddNX, cfCompact, cfCount, cfDebug, cfDel, cfExists, cfInfo, cfInsert, cfInsertNX, cfLoadChunk,
			cfMExists, cfReserve, cfScanDump,
		},
		[]Command{
			authCmd, clientCmd, echoCmd, helloCmd, pingCmd, quitCmd, resetCmd, selectCmd,
		},
		[]Command{
			copyCmd, delCmd, dumpCmd, existsCmd, expireCmd, expireAtCmd, expireTimeCmd, keysCmd, objectCmd, persistCmd,
			pexpireCmd, pexpireAtCmd, pexpireTimeCmd, pttlCmd, randomKeyCmd, renameCmd, renameNXCmd, restoreCmd, scanCmd,
			touchCmd, ttlCmd, typeCmd, unlinkCmd, waitCmd,
		},
		[]Command{
			aclCmd, bgsaveCmd, commandCmd, configCmd, dbSizeCmd, debugCmd, flushAllCmd, flushDBCmd, infoCmd, lastSaveCmd, memoryCmd, moduleCmd,
			saveCmd, slowLogCmd, timeCmd, clusterCmd, readOnlyCmd, readWriteCmd,
		},
		[]Command{
			appendCmd, decrCmd, decrByCmd, getCmd, incrCmd, incrByCmd, setCmd, setRangeCmd, strLenCmd,
		},
		[]Command{discardCmd, execCmd, multiCmd, unwatchCmd, watchCmd},
	)
}

func (t *Table) add(c Command) {
	cmd := &c
	cmd.full, cmd.stats = c.Name, new(stats)
	if len(c.Subcommands) > 0 {
		subs := slices.Concat(c.Subcommands, []Command{helpFor(c)})
		slices.SortFunc(subs, func(a, b Command) int { return strings.Compare(a.Name, b.Name) })
		cmd.Subcommands = subs
		cmd.subs = make(map[string]*Command, len(subs))
		for i := range subs {
			s := &subs[i]
			s.full, s.stats, s.Group = c.Name+"|"+s.Name, new(stats), c.Group
			if s.Since == "" {
				s.Since = c.Since
			}
			cmd.subs[s.Name] = s
		}
	}
	t.list = append(t.list, cmd)
	t.byName[c.Name] = cmd
	t.byRaw[c.Name] = cmd
	t.byRaw[strings.ToUpper(c.Name)] = cmd
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

// All returns the commands in the order of their names.
func (t *Table) All() []*Command { return t.list }

// walk calls f for every command and subcommand.
func (t *Table) walk(f func(*Command)) {
	for _, c := range t.list {
		f(c)
		for i := range c.Subcommands {
			f(&c.Subcommands[i])
		}
	}
}

// helpFor makes the subcommand HELP of a container from its other subcommands.
func helpFor(c Command) Command {
	return Command{
		Name: "help", Arity: 2, Flags: Loading | Stale, Categories: []string{"slow"},
		Summary: "Lists the subcommands.", Complexity: "O(1)",
		run: func(_ *Engine, _ *Session, call *Call) {
			lines := []string{upper(c.Name) + " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"}
			for _, s := range c.Subcommands {
				lines = append(lines, strings.TrimSpace(upper(s.Name)+" "+s.Syntax), "    "+s.Summary)
			}
			lines = append(lines, "HELP", "    Lists the subcommands.")
			call.answer(array(statuses(lines)...))
		},
	}
}

func upper(s string) string { return strings.ToUpper(s) }
