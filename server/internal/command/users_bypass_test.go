package command_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/command"
	"github.com/bloomery/bloomery/server/internal/command/commandtest"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// secrets are what the key that nobody may touch holds: nothing at first.
var secrets = []string{
	"PING",
	"SET secret 7",
	"BF.ADD secret x",
	"CF.ADD secret x",
	"FILTER.CREATE secret standard CAPACITY 100",
	"FILTER.CREATE secret counting CAPACITY 100",
	"CMS.INITBYDIM secret 10 3",
	"TOPK.RESERVE secret 3",
	"TDIGEST.CREATE secret",
}

// secretsFor returns those that can make a difference to a command: all of them to one
// on keys of any kind, its own kind and some others to one of a family.
func secretsFor(cmd *engine.Command) (list []string) {
	family, _, ok := strings.Cut(cmd.Name, ".")
	for i, secret := range secrets {
		if i < 3 || !ok && len(cmd.Keys) > 0 || ok && strings.HasPrefix(secret, strings.ToUpper(family)+".") {
			list = append(list, secret)
		}
	}
	return list
}

// shows are commands whose reply depends on what others do, or on all keys: those that
// count, those of the server itself, and those that draw a number.
var shows = []string{
	"dbsize", "info", "randomkey", "time", "lastsave", "client|id", "client|info", "client|list", "acl|genpass", "acl|log", "latency|histogram", "slowlog|get",
	"slowlog|len", "filter.news",
}

// newWorld returns a bench with the keys of mine, a secret, and a user bob who may do
// everything but touch the secret.
func newWorld(t testing.TB, secret string) *commandtest.Bench {
	t.Helper()
	b := commandtest.New(t, 1<<30)
	b.Line("ACL SETUSER bob on >pw +@all ~mine:*")
	renew(t, b, secret)
	return b
}

// renew puts the keys of a world back to what they were.
func renew(t testing.TB, b *commandtest.Bench, secret string) {
	t.Helper()
	b.Login(t, "default")
	for strings.Contains(b.Line("INFO persistence"), "rdb_bgsave_in_progress:1") { // of a BGSAVE before
		time.Sleep(time.Millisecond)
	}
	for _, words := range append([][]string{{"FLUSHALL"}}, append(callsOf(mine), strings.Fields(secret))...) {
		if got := b.Do(words...); strings.HasPrefix(got, "-") {
			t.Fatalf("%q: %s", words, got)
		}
	}
	b.Line("EXPIREAT secret 1900000000")
}

// hidden returns all that an operator sees of the secret.
func hidden(t testing.TB, b *commandtest.Bench) string {
	t.Helper()
	return b.As(t, "default", "DUMP", "secret") + b.As(t, "default", "PEXPIRETIME", "secret")
}

// TestNoWayToTheSecret puts the name of a key that the user may not touch into every
// argument of every command. What is answered must not depend on whether there is such
// a key, and the key must stay as it is; where the table has a key it is refused.
func TestNoWayToTheSecret(t *testing.T) {
	table := engine.NewTable(command.All())
	calls := callsOf(samples)
	first := make([][]string, len(calls)) // replies without the secret
	for _, secret := range secrets {
		b := newWorld(t, secret)
		for n, words := range calls {
			cmd := commandOf(t, table, words)
			if !slices.Contains(secretsFor(cmd), secret) {
				continue
			}
			renew(t, b, secret)
			before := hidden(t, b)
			replies := intrude(t, b, table, cmd, words)
			if after := hidden(t, b); after != before {
				t.Errorf("%q: with %q the secret changed:\n%s\n%s", words, secret, before, after)
			}
			if first[n] == nil {
				first[n] = replies
			}
			if !slices.Contains(shows, cmd.FullName()) && !slices.Equal(first[n], replies) {
				t.Errorf("%q shows whether there is %q:\n%q\n%q", words, secret, first[n], replies)
			}
		}
	}
}

// intrude runs a call as bob, and again with the secret in the place of each of its
// arguments, and returns the replies.
func intrude(t *testing.T, b *commandtest.Bench, table *engine.Table, cmd *engine.Command, words []string) (replies []string) {
	t.Helper()
	for i := range words {
		changed := slices.Clone(words)
		if i > 0 {
			changed[i] = "secret"
		}
		got := b.As(t, "bob", changed...)
		replies = append(replies, sorted(got))
		isKey := false
		if i > 0 && commandSame(table, cmd, changed) {
			cmd.Keys.Each(commandtest.Bytes(changed), func(at int, _ traits.Key) { isKey = isKey || changed[at] == "secret" })
		}
		if isKey && got != "-NOPERM No permissions to access a key" {
			t.Errorf("%q: %s", changed, got)
		}
	}
	return replies
}

// commandSame reports whether changed words still are a call of the command.
func commandSame(table *engine.Table, cmd *engine.Command, words []string) bool {
	c := table.Lookup([]byte(words[0]))
	if len(c.Subcommands) > 0 && len(words) > 1 {
		c = c.Sub(strings.ToLower(words[1]))
	}
	return c == cmd
}

// TestNoWayByTransactions asks the same of commands whose right was lost between MULTI
// and EXEC.
func TestNoWayByTransactions(t *testing.T) {
	table := engine.NewTable(command.All())
	for _, words := range callsOf(samples) {
		cmd := commandOf(t, table, words)
		if len(cmd.Keys) == 0 && cmd.Flags&traits.Everything == 0 || cmd.Flags&(traits.NoMulti|traits.Immediate) != 0 {
			continue
		}
		b := newWorld(t, "SET secret 7")
		b.Line("ACL SETUSER eve on >pw +@all ~*")
		b.Login(t, "eve")
		b.Line("MULTI")
		if got := b.Do(words...); got != "+QUEUED" {
			t.Errorf("%q: %s", words, got)
		}
		before, session := commandtest.Snapshot(b.State), b.Session
		b.Session = engine.NewSession(99, "127.0.0.1:1", "127.0.0.1:2", b.Now, func() {})
		b.Line("ACL SETUSER eve resetkeys")
		b.Session = session
		got := b.Line("EXEC")
		if !strings.HasPrefix(got, "[-NOPERM ACLs rules changed between the moment") || !strings.HasSuffix(got, "no permission to touch the specified keys]") {
			t.Errorf("%q: %s", words, got)
		}
		if string(commandtest.Snapshot(b.State)) != string(before) {
			t.Errorf("%q has changed something", words)
		}
		if held := b.Session.Memory(); held != 0 {
			t.Errorf("%q: %d bytes are held", words, held)
		}
	}
}

// TestReadAndWriteApart asks that a user who may only read a key cannot change it, and
// that one who may only write it does not get to see it.
func TestReadAndWriteApart(t *testing.T) {
	table := engine.NewTable(command.All())
	for _, words := range callsOf(samples) {
		cmd := commandOf(t, table, words)
		writes := cmd.Flags&(traits.Write|traits.Wrote) != 0
		if len(cmd.Keys) == 0 {
			continue
		}
		b := newWorld(t, "PING")
		b.Line("ACL SETUSER reader on >pw +@all %R~mine:*")
		b.Line("ACL SETUSER writer on >pw +@all %W~mine:*")
		before := commandtest.Snapshot(b.State)
		got := b.As(t, "reader", words...)
		if refused := strings.HasPrefix(got, "-NOPERM"); refused != writes {
			t.Errorf("reader: %q: %s", words, got)
		}
		if writes && string(commandtest.Snapshot(b.State)) != string(before) {
			t.Errorf("reader: %q has changed something", words)
		}
		if got := b.As(t, "writer", words...); !writes && !strings.HasPrefix(got, "-NOPERM") {
			t.Errorf("writer: %q: %s", words, got)
		}
	}
}

// TestWhatKeysNeed asks for commands that show what was there besides changing it, and
// for those that do not.
func TestWhatKeysNeed(t *testing.T) {
	b := newWorld(t, "PING")
	b.Line("ACL SETUSER reader on >pw +@all %R~mine:*")
	b.Line("ACL SETUSER writer on >pw +@all %W~mine:*")
	b.Line("ACL SETUSER apart on >pw +@all %R~mine:* %W~mine:?*")
	const refused = "-NOPERM No permissions to access a key"
	for _, tt := range []struct{ user, line, want string }{
		{"writer", "SET mine:s v", "+OK"},
		{"writer", "SET mine:s get", "+OK"},
		{"writer", "SET mine:s v GET", refused},
		{"writer", "SET mine:s v EX 100 get", refused},
		{"writer", "GETSET mine:s v", refused},
		{"writer", "GETDEL mine:s", refused},
		{"writer", "GETEX mine:s PERSIST", refused},
		{"writer", "INCR mine:n", refused},
		{"writer", "APPEND mine:s x", ":4"},
		{"writer", "EXPIRE mine:s 100", ":1"},
		{"writer", "PERSIST mine:s", ":1"},
		{"writer", "SETRANGE mine:s 0 a", ":4"},
		{"writer", "RENAME mine:s mine:t", refused},
		{"writer", "COPY mine:s mine:t", refused},
		{"writer", "BF.ADD mine:bf x", refused},
		{"writer", "EXISTS mine:s", refused},
		{"reader", "BF.EXISTS mine:bf x", ":1"},
		{"reader", "BF.ADD mine:bf x", refused},
		{"reader", "CF.COMPACT mine:cf", refused},
		{"reader", "COPY mine:s mine:t", refused},
		{"reader", "WATCH mine:s", "+OK"},
		{"reader", "FLUSHALL", refused},
		{"apart", "SET mine:s v", "+OK"},
		{"apart", "BF.EXISTS mine:bf x", ":1"},
		{"apart", "BF.ADD mine:bf x", refused}, // one pattern must allow both
	} {
		if got := b.As(t, tt.user, strings.Fields(tt.line)...); got != tt.want {
			t.Errorf("%s: %s: %s, want %s", tt.user, tt.line, got, tt.want)
		}
	}
	if got := b.As(t, "reader", "BF.SCANDUMP", "mine:bf", "0"); !strings.HasPrefix(got, "[:1 ") {
		t.Errorf("reader: BF.SCANDUMP: %s", got)
	}
}

// TestListsShowReadableNames asks for every command that lists names.
func TestListsShowReadableNames(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	for _, line := range []string{
		"BF.ADD a:1 x", "BF.ADD a:2 x", "BF.ADD b:1 x", "BF.ADD c:1 x",
		"ACL SETUSER bob on >pw +@all ~a:2 %R~b:* %W~c:*",
		"ACL SETUSER none on >pw +@all",
		"ACL SETUSER two on >pw ~a:1 +scan (~b:* +keys +randomkey)",
	} {
		if got := b.Line(line); strings.HasPrefix(got, "-") {
			t.Fatalf("%s: %s", line, got)
		}
	}
	for _, tt := range []struct{ user, line, want string }{
		{"bob", "KEYS *", `["a:2" "b:1"]`},
		{"bob", "KEYS a*", `["a:2"]`},
		{"bob", "FILTER.WHERE * x", `["x" ["a:2" "b:1"]]`},
		{"bob", "DBSIZE", ":4"},
		{"none", "KEYS *", "[]"},
		{"none", "SCAN 0 COUNT 1000", `["0" []]`},
		{"none", "RANDOMKEY", "nil"},
		{"none", "FILTER.WHERE * x", `["x" []]`},
		{"none", "FILTER.HEALTH", "[]"},
		{"two", "KEYS *", `["b:1"]`},
		{"two", "SCAN 0 COUNT 1000", `["0" ["a:1"]]`},
		{"two", "RANDOMKEY", `"b:1"`},
	} {
		got := b.As(t, tt.user, strings.Fields(tt.line)...)
		if sorted(got) != sorted(tt.want) {
			t.Errorf("%s: %s\n got %s\nwant %s", tt.user, tt.line, got, tt.want)
		}
	}
	for _, command := range []string{"FILTER.HEALTH", "FILTER.LIST"} {
		if got := b.As(t, "bob", command); strings.Contains(got, "a:1") || strings.Contains(got, "c:1") || !strings.Contains(got, "a:2") || !strings.Contains(got, "b:1") {
			t.Errorf("%s: %s", command, got)
		}
	}
	for range 50 {
		if got := b.As(t, "bob", "RANDOMKEY"); got != `"a:2"` && got != `"b:1"` {
			t.Fatalf("RANDOMKEY: %s", got)
		}
	}
}

// sorted returns the words of a reply in their order: that of names is a folder's own.
func sorted(reply string) string {
	list := strings.Fields(strings.NewReplacer("[", " ", "]", " ").Replace(reply))
	slices.Sort(list)
	return strings.Join(list, " ")
}
