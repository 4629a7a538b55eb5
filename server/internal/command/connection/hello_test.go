package connection_test

import (
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
	"github.com/bloomery/bloomery/server/internal/engine"
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
