package command

// docs/commands.md, written from the table of commands.

import (
	"fmt"
	"strings"

	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// docGroups are the chapters of docs/commands.md in their order.
var docGroups = []struct{ name, title, intro string }{
	{traits.GroupBloom, "Bloom filters", "As RedisBloom, replies and dumps to the byte."},
	{traits.GroupCuckoo, "Cuckoo filters", "As RedisBloom, replies and dumps to the byte."},
	{traits.GroupFilter, "Filters of every kind", "What RedisBloom does not have: see [filter-commands.md](filter-commands.md)."},
	{traits.GroupCountMin, "Count-min sketches", "How often items occurred, never too low. As RedisBloom, replies and dumps to the byte."},
	{traits.GroupTopK, "Top-k sketches", "The most frequent items. As RedisBloom, replies and dumps to the byte. The server keeps the items themselves, also in its files."},
	{traits.GroupTDigest, "t-digests", "Quantiles and ranks of numbers. As RedisBloom, replies and dumps to the byte."},
	{traits.GroupGeneric, "Keys", "Work on filters and strings alike."},
	{traits.GroupString, "Strings", "The few that clients and tests expect; bloomery is not a string store."},
	{traits.GroupMulti, "Transactions", "As in Redis, except that EXEC refuses a transaction that would touch more than `max-transaction` KiB of data: all other clients wait while it runs, at the default for about 100 ms. See [configuration.md](configuration.md#what-a-transaction-costs)."},
	{traits.GroupConnection, "Connection", ""},
	{traits.GroupServer, "Server", ""},
	{traits.GroupCluster, "Cluster", "What clients of Redis Cluster ask: see [cluster.md](cluster.md). Without a cluster they are answered as by a Redis whose cluster support is disabled."},
	{traits.GroupScripting, "Scripts", "Not supported. The error says why, and what to do instead."},
	{traits.GroupPubSub, "Messages", "Not supported. The error says why, and what to do instead."},
}

// Docs returns docs/commands.md: the table of commands for people.
func Docs() string {
	t := engine.NewTable(All())
	var b strings.Builder
	b.WriteString("# Commands\n\n<!-- Made by go generate from the command table. Do not edit. -->\n\n" +
		"The server speaks RESP2 and RESP3. Names and option words may be written in letters of any case.\n" +
		"An arity counts the name of the command; a negative one means \"at least\".\n")
	for _, g := range docGroups {
		fmt.Fprintf(&b, "\n## %s\n", g.title)
		if g.intro != "" {
			fmt.Fprintf(&b, "\n%s\n", g.intro)
		}
		for _, c := range t.All() {
			if c.Group == g.name {
				docCommand(&b, c)
			}
		}
	}
	return b.String()
}

func docCommand(b *strings.Builder, c *engine.Command) {
	fmt.Fprintf(b, "\n### %s\n\n", strings.ToUpper(c.Name))
	if len(c.Subcommands) == 0 || c.Run != nil {
		docUse(b, c)
	} else {
		fmt.Fprintf(b, "%s\n", c.Summary)
	}
	for i := range c.Subcommands {
		s := &c.Subcommands[i]
		fmt.Fprintf(b, "\n#### %s %s\n\n", strings.ToUpper(c.Name), strings.ToUpper(s.Name))
		docUse(b, s)
	}
}

func docUse(b *strings.Builder, c *engine.Command) {
	name := strings.ToUpper(strings.ReplaceAll(c.FullName(), "|", " "))
	fmt.Fprintf(b, "    %s\n\n%s\n\n", strings.TrimSpace(name+" "+c.Syntax), c.Summary)
	fmt.Fprintf(b, "Arity %d · since %s · %s", c.Arity, c.Since, c.Complexity)
	if f := c.Flags.Names(); len(f) > 0 {
		fmt.Fprintf(b, " · %s", strings.Join(f, " "))
	}
	fmt.Fprintf(b, " · @%s\n", strings.Join(c.Categories, " @"))
}
