package admin

import (
	"crypto/sha256"
	"encoding/hex"
	"github.com/bloomery/bloomery/server/internal/engine"
	"slices"
	"strings"
)

// acl is ACL: there is one user, default, who may do everything.
var acl = engine.Command{
	Name: "acl", Arity: -2, Group: engine.GroupServer, Since: "6.0.0", Syntax: "subcommand", Summary: "Describes users and categories of commands.",
	Categories: []string{"slow"},
	Subcommands: []engine.Command{
		{
			Name: "cat", Arity: -2, Max: 3, Flags: engine.NoScript | engine.Loading | engine.Stale, Categories: []string{"slow"}, Syntax: "[category]",
			Complexity: "O(n), n being the number of commands", Summary: "Lists the categories, or the commands of one.",
			Run: runACLCat,
		},
		{
			Name: "list", Arity: 2, Flags: engine.Admin | engine.NoScript | engine.Loading | engine.Stale, Categories: []string{"admin", "slow", "dangerous"},
			Complexity: "O(1)", Summary: "Lists the users and what they may do.",
			Run: func(x *engine.Context, c *engine.Call) {
				secret := "nopass sanitize-payload"
				if p := x.Settings().Password(); p != "" {
					sum := sha256.Sum256([]byte(p))
					secret = "sanitize-payload #" + hex.EncodeToString(sum[:])
				}
				c.Answer(engine.Texts([]string{"user default on " + secret + " ~* &* +@all"}))
			},
		},
		{
			Name: "users", Arity: 2, Flags: engine.Admin | engine.NoScript | engine.Loading | engine.Stale, Categories: []string{"admin", "slow", "dangerous"},
			Complexity: "O(1)", Summary: "Lists the names of the users.",
			Run: func(_ *engine.Context, c *engine.Call) { c.Answer(engine.Texts([]string{"default"})) },
		},
		{
			Name: "whoami", Arity: 2, Flags: engine.NoScript | engine.Loading | engine.Stale, Categories: []string{"slow"},
			Complexity: "O(1)", Summary: "Returns the name of this connection's user.",
			Run: func(_ *engine.Context, c *engine.Call) { c.Answer(engine.Text("default")) },
		},
	},
}

// categories are those of Redis 7.4, and RedisBloom's behind them.
var categories = []string{
	"keyspace", "read", "write", "set", "sortedset", "list", "hash", "string", "bitmap", "hyperloglog", "geo", "stream",
	"pubsub", "admin", "fast", "slow", "blocking", "dangerous", "connection", "transaction", "scripting", "bloom", "cuckoo",
	"cms", "topk", "tdigest",
}

func runACLCat(x *engine.Context, c *engine.Call) {
	if len(c.Args) == 2 {
		c.Answer(engine.Texts(categories))
		return
	}
	category := engine.Lower(c.Args[2])
	if !slices.Contains(categories, category) {
		c.Fail("ERR Unknown category '" + string(c.Args[2]) + "'")
		return
	}
	var names []string
	x.Table().Walk(func(cmd *engine.Command) {
		if slices.Contains(cmd.Categories, category) {
			names = append(names, cmd.FullName())
		}
	})
	slices.SortFunc(names, strings.Compare)
	c.Answer(engine.Texts(names))
}
