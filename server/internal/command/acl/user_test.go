package acl_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
	"github.com/bloomery/bloomery/server/internal/engine"
)

// TestManyRulesAtOnce asks that a command with very many rules is refused: others log in
// meanwhile.
func TestManyRulesAtOnce(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	for _, rules := range []string{strings.Repeat(" ~a", 4097), " (" + strings.Repeat("~a ", 4097) + "+get)", " ~" + strings.Repeat("a", 1<<20)} {
		if got := b.Line("ACL SETUSER bob" + rules); got != "-ERR more than 4096 rules, or 1 MiB of them: send them in several commands" {
			t.Errorf("many rules: %q", got)
		}
	}
	if got := b.Line("ACL GETUSER bob"); strings.Contains(got, "flags") {
		t.Errorf("the user is there: %q", got)
	}
	if got := b.Line("ACL SETUSER bob on nopass (" + strings.Repeat("~a ", 4000) + "+get)"); got != "+OK" {
		t.Errorf("4000 rules: %q", got)
	}
}

// TestAddRate asks that items above the rate of a user are refused, whatever command
// adds them, and counted.
func TestAddRate(t *testing.T) {
	for _, tt := range []struct{ setup, add, more string }{
		{"PING", "BF.MADD k a b", "BF.ADD k c"},
		{"PING", "BF.INSERT k CAPACITY 10 ITEMS a b", "BF.INSERT k ITEMS c"},
		{"PING", "CF.ADD k a", "CF.INSERT k ITEMS b c"},
		{"FILTER.CREATE k bloom", "FILTER.ADD k a b", "FILTER.ADD k c"},
		{"FILTER.CREATE k bloom", "FILTER.ADDHASH k 1 2", "FILTER.ADDHASH k 3"},
		{"FILTER.CREATE k bloom", "FILTER.REPAIR k a b", "FILTER.ADD k c"},
		{"CMS.INITBYDIM k 10 3", "CMS.INCRBY k a 1 b 1", "CMS.INCRBY k a 1"},
		{"TOPK.RESERVE k 3", "TOPK.ADD k a b", "TOPK.INCRBY k a 1"},
		{"TDIGEST.CREATE k", "TDIGEST.ADD k 1 2", "TDIGEST.ADD k 3"},
	} {
		b := commandtest.New(t, 1<<30)
		b.Line(tt.setup)
		b.Line("ACL SETUSER bob on >pw +@all ~* addrate=2")
		b.Login(t, "bob")
		if got := b.Line(tt.add); strings.HasPrefix(got, "-") {
			t.Errorf("%s: %s", tt.add, got)
		}
		got := b.Line(tt.more)
		if !strings.HasPrefix(got, "-LIMIT user 'bob' may add 2 items a second (addrate): try again in ") || !strings.HasSuffix(got, " ms") {
			t.Errorf("%s: %s", tt.more, got)
		}
		if got := b.Line("EXISTS k"); got != ":1" {
			t.Errorf("a read: %s", got)
		}
		if got := b.As(t, "default", strings.Fields(tt.more)...); strings.HasPrefix(got, "-") {
			t.Errorf("%s by another user: %s", tt.more, got)
		}
		if got := b.Line("INFO stats"); !strings.Contains(got, `acl_addrate_refused:1\r\n`) {
			t.Errorf("INFO: %s", got)
		}
		n := int64(0)
		b.Engine.Users.Limited(func(user string, refused int64) {
			if n = refused; user != "bob" {
				t.Errorf("Limited: %s", user)
			}
		})
		if n != 1 || b.Engine.Users.Refusals().AddRate != 1 {
			t.Errorf("refused: %d and %d, want 1", n, b.Engine.Users.Refusals().AddRate)
		}
	}
	b := commandtest.New(t, 1<<30)
	b.Line("ACL SETUSER bob on >pw +@all ~* addrate=2")
	b.Login(t, "bob")
	if got := b.Line("BF.MADD k a b c"); got != "-LIMIT user 'bob' may add 2 items a second (addrate): this command has 3; send them in several" {
		t.Errorf("more than the bucket holds: %s", got)
	}
	if got := b.Line("EXISTS k"); got != ":0" {
		t.Errorf("a refused command has made the key: %s", got)
	}
	// The rest of a pipeline is refused one by one, and each that was counted is done.
	replies := b.Exec(commandtest.Bytes([]string{"BF.ADD", "k", "a"}), commandtest.Bytes([]string{"BF.ADD", "k", "b"}), commandtest.Bytes([]string{"BF.ADD", "k", "c"}))
	if commandtest.Show(replies[0]) != ":1" || commandtest.Show(replies[1]) != ":1" || !strings.HasPrefix(commandtest.Show(replies[2]), "-LIMIT") {
		t.Errorf("a pipeline: %s %s %s", commandtest.Show(replies[0]), commandtest.Show(replies[1]), commandtest.Show(replies[2]))
	}
	if got := b.Line("BF.CARD k"); got != ":2" {
		t.Errorf("BF.CARD: %s", got)
	}
}

// TestRightsChangeUnderway has users change while others run commands.
func TestRightsChangeUnderway(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Line("ACL SETUSER bob on nopass ~* +@all")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for id := range int64(3) {
		wg.Go(func() {
			s := engine.NewSession(100+id, "127.0.0.1:1", "127.0.0.1:2", b.Now, func() {})
			var w engine.Workspace
			b.Engine.Login(s, []byte("bob"), nil, "AUTH")
			for {
				select {
				case <-stop:
					return
				default:
				}
				w.Reset()
				for _, line := range []string{"BF.ADD k x", "BF.EXISTS k x", "ACL WHOAMI", "KEYS *"} {
					w.Add(commandtest.Bytes(strings.Fields(line)))
				}
				for done := 0; done < len(w.Calls); {
					done += b.Engine.Exec(s, &w, done)
				}
				for i := range w.Calls {
					if got := commandtest.Show(w.Calls[i].Reply); strings.HasPrefix(got, "-") && !strings.HasPrefix(got, "-NOPERM") && !strings.HasPrefix(got, "-LIMIT") {
						t.Errorf("%s: %s", w.Calls[i].Args[0], got)
					}
				}
			}
		})
	}
	for i := range 300 {
		for _, line := range []string{"ACL SETUSER bob -@write ~*", "ACL SETUSER bob +@write addrate=1000", "ACL SETUSER bob resetkeys %R~k", "ACL LIST", fmt.Sprint("CONFIG SET requirepass ", i)} {
			if got := b.Line(line); strings.HasPrefix(got, "-") {
				if b.Session.Authenticated || !strings.HasPrefix(got, "-NOAUTH") {
					t.Errorf("%s: %s", line, got)
				}
				b.Session.Authenticated = true
			}
		}
	}
	b.Line("ACL DELUSER bob")
	close(stop)
	wg.Wait()
}

// TestOldValueNeedsReading has a user set a key that it may not read: GET of the old
// value is refused, though the new value is the name of a key that it may read.
func TestOldValueNeedsReading(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Script(t, `
		ACL SETUSER u on nopass %W~k %R~v +set +get -> +OK
		AUTH u x -> +OK
		SET k v -> +OK`)
	if got := b.Line("SET k v GET"); !strings.HasPrefix(got, "-NOPERM") {
		t.Errorf("SET k v GET = %s, want a refusal", got)
	}
	if got := b.Line("COMMAND INFO incr"); !strings.HasPrefix(got, "-NOPERM") {
		t.Errorf("COMMAND INFO = %s, want a refusal", got)
	}
}
