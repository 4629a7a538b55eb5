package acl_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/acl"
	"github.com/bloomery/bloomery/server/internal/command/commandtest"
)

// TestUserScripts asks for passwords of all lengths, for selectors, and for more
// refusals than are shown.
func TestUserScripts(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	for bits, digits := range map[int]int{1: 1, 4: 1, 5: 2, 8: 2, 9: 3, 4096: 1024} {
		if got := b.Line(fmt.Sprint("ACL GENPASS ", bits)); len(got) != digits+2 {
			t.Errorf("ACL GENPASS %d: %s, want %d digits", bits, got, digits)
		}
	}
	for _, bits := range []string{"", " 1024", " 4"} { // half a byte is random, too
		all := map[string]bool{}
		for range 100 {
			all[b.Line("ACL GENPASS"+bits)] = true
		}
		if len(all) < 2 || bits != " 4" && len(all) < 100 {
			t.Errorf("ACL GENPASS%s: %d of 100 passwords differ", bits, len(all))
		}
	}
	b.Script(t, `
		ACL GENPASS 8 8 -> -ERR wrong number of arguments for 'acl|genpass' command
		ACL LOG 1 1 -> -ERR wrong number of arguments for 'acl|log' command
		ACL SETUSER bob (~x* +get) (~y +@string -set &news) -> +OK
		ACL GETUSER bob -> ["flags" ["off" "sanitize-payload"] "passwords" [] "commands" "-@all" "keys" "" "channels" "" "selectors" [["commands" "-@all +get" "keys" "~x*" "channels" ""] ["commands" "-@all +@string -set" "keys" "~y" "channels" "&news"]]]
		ACL SETUSER bob clearselectors addrate=1 -> +OK
		ACL GETUSER bob -> ["flags" ["off" "sanitize-payload"] "passwords" [] "commands" "-@all" "keys" "" "channels" "" "selectors" [] "addrate" :1]`)
	b.Script(t, `
		ACL SETUSER carol -> +OK
		ACL DELUSER carol -> :1
		ACL DELUSER carol -> :0
		ACL USERS -> ["bob" "default"]`)
	if got, want := b.Line("ACL CAT"), `["`+strings.Join(acl.Categories(), `" "`)+`"]`; got != want {
		t.Errorf("ACL CAT\n got %s\nwant %s", got, want)
	}
	long := strings.Repeat("c", 200)
	if got, want := b.Line("ACL CAT "+long), "-ERR Unknown category '"+long[:128]+"'"; got != want {
		t.Errorf("ACL CAT of a long name: %s, want %s", got, want)
	}
	b.Line("CONFIG SET slowlog-log-slower-than 0")
	b.Tick = time.Millisecond
	b.Line("ACL DRYRUN bob get key")
	b.Line("ACL SETUSER bob >pw")
	b.Tick = 0
	b.Script(t, `
		CONFIG SET slowlog-log-slower-than -1 -> +OK
		SLOWLOG GET 2 -> [[:1 :1700000000 :1000 ["ACL" "SETUSER" "(redacted)" "(redacted)"] "127.0.0.1:1" ""] [:0 :1700000000 :1000 ["ACL" "DRYRUN" "bob" "(redacted)" "(redacted)"] "127.0.0.1:1" ""]]`)
	for i := range 12 {
		b.Line(fmt.Sprintf("AUTH eve%d wrong", i))
	}
	all := b.Exec(commandtest.Bytes([]string{"ACL", "LOG"}))[0].Elems
	if len(all) != 10 {
		t.Fatalf("ACL LOG has %d entries, want 10", len(all))
	}
	at := b.Now.UnixMilli()
	for i, e := range all {
		want := fmt.Sprintf(`"entry-id" :%d "timestamp-created" :%d "timestamp-last-updated" :%d`, 11-i, at, at)
		if got := commandtest.Show(e); !strings.Contains(got, want) || !strings.Contains(got, fmt.Sprintf(`"username" "eve%d" "age-seconds" `, 11-i)) {
			t.Errorf("entry %d: %s, want %s", i, got, want)
		}
	}
}
