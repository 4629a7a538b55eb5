package command_test

// ACL at the margins.

import (
	"fmt"
	"strings"
	"testing"
)

// TestACLMargins asks for passwords of all lengths, for selectors, and for more
// refusals than are shown.
func TestACLMargins(t *testing.T) {
	b := newBench(t, 1<<30)
	for bits, digits := range map[int]int{1: 1, 4: 1, 5: 2, 8: 2, 9: 3, 4096: 1024} {
		if got := b.line(fmt.Sprint("ACL GENPASS ", bits)); len(got) != digits+2 {
			t.Errorf("ACL GENPASS %d: %s, want %d digits", bits, got, digits)
		}
	}
	b.script(t, `
		ACL SETUSER bob (~x* +get) (~y +@string -set &news) -> +OK
		ACL GETUSER bob -> ["flags" ["off" "sanitize-payload"] "passwords" [] "commands" "-@all" "keys" "" "channels" "" "selectors" [["commands" "-@all +get" "keys" "~x*" "channels" ""] ["commands" "-@all +@string -set" "keys" "~y" "channels" "&news"]]]
		ACL SETUSER bob clearselectors addrate=1 -> +OK
		ACL GETUSER bob -> ["flags" ["off" "sanitize-payload"] "passwords" [] "commands" "-@all" "keys" "" "channels" "" "selectors" [] "addrate" :1]`)
	long := strings.Repeat("c", 200)
	if got, want := b.line("ACL CAT "+long), "-ERR Unknown category '"+long[:128]+"'"; got != want {
		t.Errorf("ACL CAT of a long name: %s, want %s", got, want)
	}
	for i := range 12 {
		b.line(fmt.Sprintf("AUTH eve%d wrong", i))
	}
	all := b.exec(bytesOf([]string{"ACL", "LOG"}))[0].Elems
	if len(all) != 10 {
		t.Fatalf("ACL LOG has %d entries, want 10", len(all))
	}
	at := b.now.UnixMilli()
	for i, e := range all {
		want := fmt.Sprintf(`"entry-id" :%d "timestamp-created" :%d "timestamp-last-updated" :%d`, 11-i, at, at)
		if got := show(e); !strings.Contains(got, want) || !strings.Contains(got, fmt.Sprintf(`"username" "eve%d" "age-seconds" `, 11-i)) {
			t.Errorf("entry %d: %s, want %s", i, got, want)
		}
	}
}
