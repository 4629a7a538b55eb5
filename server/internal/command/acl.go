package command

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// aclCmd is ACL: there is one user, default, who may do everything.
var aclCmd = Command{
	Name: "acl", Arity: -2, Group: groupServer, Since: "6.0.0", Syntax: "subcommand", Summary: "Tells of users and categories.",
	Categories: []string{"slow"},
	Subcommands: []Command{
		{
			Name: "cat", Arity: -2, Max: 3, Flags: NoScript | Loading | Stale, Categories: []string{"slow"}, Syntax: "[category]",
			Complexity: "O(n), n being the number of commands", Summary: "Lists the categories, or the commands of one.",
			run: runACLCat,
		},
		{
			Name: "list", Arity: 2, Flags: Admin | NoScript | Loading | Stale, Categories: []string{"admin", "slow", "dangerous"},
			Complexity: "O(1)", Summary: "Lists the users and what they may do.",
			run: func(e *Engine, _ *Session, c *Call) {
				secret := "nopass sanitize-payload"
				if p := e.Settings.Password(); p != "" {
					sum := sha256.Sum256([]byte(p))
					secret = "sanitize-payload #" + hex.EncodeToString(sum[:])
				}
				c.answer(bulks([]string{"user default on " + secret + " ~* &* +@all"}))
			},
		},
		{
			Name: "users", Arity: 2, Flags: Admin | NoScript | Loading | Stale, Categories: []string{"admin", "slow", "dangerous"},
			Complexity: "O(1)", Summary: "Lists the names of the users.",
			run: func(_ *Engine, _ *Session, c *Call) { c.answer(bulks([]string{"default"})) },
		},
		{
			Name: "whoami", Arity: 2, Flags: NoScript | Loading | Stale, Categories: []string{"slow"},
			Complexity: "O(1)", Summary: "Returns the name of this connection's user.",
			run: func(_ *Engine, _ *Session, c *Call) { c.answer(bulk("default")) },
		},
	},
}

// categories are those of Redis 7.4, and RedisBloom's behind them.
var categories = []string{
	"keyspace", "read", "write", "set", "sortedset", "list", "hash", "string", "bitmap", "hyperloglog", "geo", "stream",
	"pubsub", "admin", "fast", "slow", "blocking", "dangerous", "connection", "transaction", "scripting", "bloom", "cuckoo",
}

func runACLCat(e *Engine, _ *Session, c *Call) {
	if len(c.Args) == 2 {
		c.answer(bulks(categories))
		return
	}
	category := lower(c.Args[2])
	if !slices.Contains(categories, category) {
		c.answer(fail("ERR Unknown category '" + string(c.Args[2]) + "'"))
		return
	}
	var names []string
	e.table.walk(func(cmd *Command) {
		if slices.Contains(cmd.Categories, category) {
			names = append(names, cmd.full)
		}
	})
	slices.SortFunc(names, strings.Compare)
	c.answer(bulks(names))
}
