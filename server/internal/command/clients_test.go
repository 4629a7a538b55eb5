package command_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/session"
)

// TestHello asks for a protocol, a name and a user at once.
func TestHello(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	for _, c := range []struct{ line, want, name string }{
		{"HELLO 2 SETNAME me", `"proto" :2`, `"me"`},
		{"HELLO 3 SETNAME you", `"proto" :3`, `"you"`},
		{"HELLO", `"proto" :3`, `"you"`},
		{"HELLO 2 AUTH default x SETNAME both", `"proto" :2`, `"both"`},
		{"HELLO 3 AUTH nobody x SETNAME not", "-WRONGPASS", `"both"`},
		{"HELLO", `"proto" :2`, `"both"`},
	} {
		if got := b.Line(c.line); !strings.Contains(got, c.want) {
			t.Errorf("%s = %s, without %s", c.line, got, c.want)
		}
		if got := b.Line("CLIENT GETNAME"); got != c.name {
			t.Errorf("after %s the name is %s, want %s", c.line, got, c.name)
		}
	}
}

// TestHelloOfAGuest asks that nothing is changed for a client that has not logged in.
func TestHelloOfAGuest(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Line("CONFIG SET requirepass pw")
	b.Session = engine.NewSession(2, "127.0.0.1:3", "127.0.0.1:2", b.Now, func() {})
	if got := b.Line("HELLO 3 SETNAME me"); !strings.HasPrefix(got, "-NOAUTH HELLO must be called with the client already authenticated") {
		t.Errorf("HELLO = %s", got)
	}
	if got := b.Line("HELLO 2 AUTH default pw"); !strings.Contains(got, `"proto" :2`) {
		t.Errorf("HELLO with a password = %s", got)
	}
	if got := b.Line("CLIENT GETNAME"); got != "nil" {
		t.Errorf("the name is %s", got)
	}
	if got := b.Line("CLIENT INFO"); !strings.HasPrefix(got, `"id=2 addr=127.0.0.1:3 laddr=127.0.0.1:2 `) || !strings.Contains(got, " cmd=client|info user=default ") || !strings.HasSuffix(got, `\n"`) {
		t.Errorf("CLIENT INFO = %s", got)
	}
	if got := b.Line("CLIENT LIST"); !strings.Contains(got, " cmd=client|list user=default ") {
		t.Errorf("CLIENT LIST = %s", got)
	}
}

// TestClientKillChooses kills the one client there is, or not, by every filter.
func TestClientKillChooses(t *testing.T) {
	for words, want := range map[string]string{
		"ID 1":                              ":0", // itself, unless it says so
		"ID 1 SKIPME no":                    ":1",
		"ID 1 SKIPME yes":                   ":0",
		"ID 2 SKIPME no":                    ":0",
		"ADDR 127.0.0.1:1 SKIPME no":        ":1",
		"ADDR 127.0.0.1:2 SKIPME no":        ":0",
		"LADDR 127.0.0.1:2 SKIPME no":       ":1",
		"LADDR 127.0.0.1:1 SKIPME no":       ":0",
		"TYPE normal SKIPME no":             ":1",
		"TYPE pubsub SKIPME no":             ":0",
		"USER default SKIPME no":            ":1",
		"MAXAGE 10 SKIPME no":               ":1",
		"MAXAGE 11 SKIPME no":               ":0",
		"ID 1 MAXAGE 11 SKIPME no":          ":0",
		"ID 1 ADDR 127.0.0.1:1 SKIPME no":   ":1",
		"ID 1 ADDR 127.0.0.1:2 SKIPME no":   ":0",
		"TYPE normal USER default ID 1":     ":0",
		"LADDR 127.0.0.1:2 ID 1 SKIPME no":  ":1",
		"LADDR 127.0.0.1:2 ID 10 SKIPME no": ":0",
	} {
		b := commandtest.New(t, 1<<30)
		b.Now = b.Now.Add(10 * time.Second)
		if got := b.Line("CLIENT KILL " + words); got != want {
			t.Errorf("CLIENT KILL %s = %s, want %s", words, got, want)
		}
	}
	b := commandtest.New(t, 1<<30)
	if got := b.Line("CLIENT LIST ID 1 7"); !strings.HasPrefix(got, `"id=1 addr=127.0.0.1:1 laddr=127.0.0.1:2 `) {
		t.Errorf("CLIENT LIST ID 1 7 = %s", got)
	}
	for _, id := range []string{"0", "-1", "x"} {
		if got := b.Line("CLIENT LIST ID " + id); got != "-ERR Invalid client ID" {
			t.Errorf("CLIENT LIST ID %s = %s", id, got)
		}
	}
}

// TestLongestClientName sets a name of 64 KiB, and one that is a byte longer.
func TestLongestClientName(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	name := strings.Repeat("n", 64<<10)
	if got := b.Do("CLIENT", "SETNAME", name); got != "+OK" {
		t.Errorf("SETNAME of 64 KiB = %.100s", got)
	}
	if got := b.Do("CLIENT", "SETNAME", name+"n"); !strings.HasPrefix(got, "-ERR Client names") {
		t.Errorf("SETNAME of more = %.100s", got)
	}
	if got := b.Line("CLIENT GETNAME"); got != `"`+name+`"` {
		t.Errorf("GETNAME has %d bytes", len(got))
	}
}

// TestUsagesAreOfCallsAndRejections asks which commands have figures: those that were
// called, and those that were refused.
func TestUsagesAreOfCallsAndRejections(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Line("BF.ADD k x")
	b.Line("BF.EXISTS k") // an item is missing
	var got []string
	b.Engine.Usages(func(name string, u *session.Usage) { got = append(got, name) })
	slices.Sort(got)
	if want := []string{"bf.add", "bf.exists"}; !slices.Equal(got, want) {
		t.Errorf("commands with figures: %q, want %q", got, want)
	}
}

// TestFlagsOfConnectionCommands asks COMMAND INFO for the flags that clients rely on
// before they have logged in, and while a server loads.
func TestFlagsOfConnectionCommands(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	open := "[+noscript +loading +stale +fast +no_auth]"
	for name, want := range map[string]string{
		"auth": open, "hello": open, "quit": open, "reset": open, "select": "[+loading +stale +fast]", "ping": "[+fast]",
	} {
		if got := b.Line("COMMAND INFO " + name); !strings.Contains(got, want) {
			t.Errorf("COMMAND INFO %s = %s, without %s", name, got, want)
		}
	}
}

// TestClientKillArguments asks for numbers at the ends of what is allowed.
func TestClientKillArguments(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Script(t, `
		CLIENT KILL ID 0 -> -ERR client-id should be greater than 0
		CLIENT KILL ID x -> -ERR client-id should be greater than 0
		CLIENT KILL ID 1 -> :0
		CLIENT KILL MAXAGE 0 -> -ERR maxage is not an integer or out of range
		CLIENT KILL MAXAGE -1 -> -ERR maxage is not an integer or out of range
		CLIENT KILL MAXAGE x -> -ERR maxage is not an integer or out of range
		CLIENT KILL MAXAGE 1 -> :0
		CLIENT KILL MAXAGE 9223372036854775807 SKIPME no -> :0`)
}
