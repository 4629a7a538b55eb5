package connection_test

import (
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
)

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
		if quits := want == ":1"; b.Session.Quit != quits { // who kills itself gets its reply first
			t.Errorf("after CLIENT KILL %s the connection ends: %v, want %v", words, b.Session.Quit, quits)
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
