package command_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/acl"
	"github.com/bloomery/bloomery/server/internal/command"
	"github.com/bloomery/bloomery/server/internal/command/commandtest"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// TestCategoriesAreSane asks that the categories of every command follow from what it
// does.
func TestCategoriesAreSane(t *testing.T) {
	known := acl.Categories()
	engine.NewTable(command.All()).Walk(func(c *engine.Command) {
		has := func(name string) bool { return slices.Contains(c.Categories, name) }
		for _, name := range c.Categories {
			if !slices.Contains(known, name) {
				t.Errorf("%s: there is no category %s", c.FullName(), name)
			}
		}
		if got, want := has("write"), c.Flags&traits.Write != 0; got != want {
			t.Errorf("%s: category write is %t, the flag %t", c.FullName(), got, want)
		}
		if got, want := has("read"), c.Flags&traits.ReadOnly != 0; got != want {
			t.Errorf("%s: category read is %t, the flag %t", c.FullName(), got, want)
		}
		if c.Flags&traits.Admin != 0 && !(has("admin") && has("dangerous")) {
			t.Errorf("%s is for operators and not in @admin and @dangerous", c.FullName())
		}
		if c.Flags&traits.Module == 0 && has("fast") == has("slow") { // RedisBloom has no slow
			t.Errorf("%s: not one of fast and slow", c.FullName())
		}
		if has("delete") && !has("write") {
			t.Errorf("%s deletes and does not write", c.FullName())
		}
		for prefix, name := range map[string]string{
			"bf.": "bloom", "cf.": "cuckoo", "cms.": "cms", "topk.": "topk", "tdigest.": "tdigest", "filter.": "filter",
		} {
			if strings.HasPrefix(c.Name, prefix) != has(name) {
				t.Errorf("%s: category %s", c.FullName(), name)
			}
		}
		for i := range c.Subcommands {
			for _, name := range c.Categories {
				if !slices.Contains(c.Subcommands[i].Categories, name) {
					t.Errorf("%s is in @%s, and %s is not", c.FullName(), name, c.Subcommands[i].FullName())
				}
			}
		}
	})
	b := commandtest.New(t, 1<<30)
	want := `["bf.loadchunk" "cf.del" "cf.loadchunk" "cms.merge" "copy" "del" "expire" "expireat" "filter.clear" "filter.del" "filter.intersect" ` +
		`"filter.load" "filter.rebuild" "flushall" "flushdb" "getdel" "getex" "getset" "mset" "pexpire" "pexpireat" "psetex" "rename" "renamenx" ` +
		`"restore" "set" "setex" "tdigest.merge" "tdigest.reset" "unlink"]`
	if got := b.Line("ACL CAT delete"); got != want {
		t.Errorf("ACL CAT delete\n got %s\nwant %s", got, want)
	}
}

// TestEveryCommandCanBeAllowedAlone asks that a user who has one command has that and no
// other, but for those that need no login.
func TestEveryCommandCanBeAllowedAlone(t *testing.T) {
	table := engine.NewTable(command.All())
	var all []*engine.Command
	table.Walk(func(c *engine.Command) { all = append(all, c) })
	b := commandtest.New(t, 1<<30)
	calls := callsOf(samples)
	for _, c := range all {
		if got := b.Do("ACL", "SETUSER", "one", "reset", "on", "nopass", "allkeys", "+"+c.FullName()); got != "+OK" {
			t.Fatalf("+%s: %s", c.FullName(), got)
		}
		for _, words := range calls {
			cmd := commandOf(t, table, words)
			want := cmd == c || cmd.Flags&traits.NoAuth != 0 || strings.HasPrefix(cmd.FullName(), c.FullName()+"|")
			if got := b.Do(append([]string{"ACL", "DRYRUN", "one"}, words...)...); (got == "+OK") != want {
				t.Fatalf("+%s: %q: %s", c.FullName(), words, got)
			}
		}
	}
}

// TestPasswordsAreNowhere asks that no log, reply or listing shows a password.
func TestPasswordsAreNowhere(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Tick = time.Millisecond
	b.Line("CONFIG SET slowlog-log-slower-than 0")
	var replies []string
	for _, line := range []string{
		"ACL SETUSER bob on >s3cret ~* +@all", "AUTH bob s3cret", "HELLO 2 AUTH bob s3cret", "ACL SETUSER bob <s3cret2", "ACL SETUSER bob !s3cret",
		"ACL SETUSER bob #s3cret", "ACL DRYRUN bob AUTH bob s3cret", "AUTH bob s3cret2", "HELLO 3 AUTH bob s3cret2", "ACL LIST", "ACL GETUSER bob", "ACL LOG",
		"CLIENT LIST", "INFO all",
	} {
		replies = append(replies, b.Line(line))
	}
	replies = append(replies, b.Line("SLOWLOG GET -1"))
	for _, r := range replies {
		if strings.Contains(r, "s3cret") {
			t.Errorf("a password is shown: %s", r)
		}
	}
	if !strings.Contains(replies[len(replies)-1], `"ACL" "SETUSER" "(redacted)"`) {
		t.Errorf("SLOWLOG: %s", replies[len(replies)-1])
	}
}
