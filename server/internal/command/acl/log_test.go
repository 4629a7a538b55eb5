package acl_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
)

// TestACLLog asks for what ACL LOG and INFO show of refusals.
func TestACLLog(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Line("ACL SETUSER bob on >pw +get +multi +exec ~mine")
	b.Line("AUTH bob wrong")
	b.Line("HELLO 3 AUTH bob wrong")
	b.Line("AUTH bob wrong")
	b.Login(t, "bob")
	b.Line("GET other")
	b.Line("DEL mine")
	b.Line("MULTI")
	b.Line("GET other")
	b.Line("EXEC")
	b.Login(t, "default")
	r := b.Exec(commandtest.Bytes([]string{"ACL", "LOG"}))[0]
	var got []string
	for _, e := range r.Elems {
		var fields []string
		for i := 0; i < 10; i += 2 {
			fields = append(fields, strings.Trim(commandtest.Show(e.Elems[i+1]), `"`))
		}
		if info := commandtest.Show(e.Elems[13]); !strings.Contains(info, "addr=127.0.0.1:1") {
			t.Errorf("client-info: %s", info)
		}
		got = append(got, strings.Join(fields, " "))
	}
	want := []string{
		":1 key multi other bob",
		":1 command toplevel del bob",
		":1 key toplevel other bob",
		":2 auth toplevel AUTH bob",
		":1 auth toplevel HELLO bob",
	}
	if !slices.Equal(got, want) {
		t.Errorf("ACL LOG\n got %q\nwant %q", got, want)
	}
	info := b.Line("INFO stats")
	for _, line := range []string{"acl_access_denied_auth:3", "acl_access_denied_cmd:1", "acl_access_denied_key:2", "acl_access_denied_channel:0", "acl_addrate_refused:0"} {
		if !strings.Contains(info, line+`\r\n`) {
			t.Errorf("INFO has no %s: %s", line, info)
		}
	}
	if got := b.Line("ACL LOG 2"); strings.Count(got, "count") != 2 {
		t.Errorf("ACL LOG 2: %s", got)
	}
	b.Line("CONFIG SET acllog-max-len 1")
	b.Line("AUTH eve wrong")
	if got := b.Line("ACL LOG"); strings.Count(got, "count") != 1 || !strings.Contains(got, "eve") {
		t.Errorf("a log of one: %s", got)
	}
	b.Line("ACL LOG RESET")
	b.Line("CONFIG RESETSTAT")
	if got := b.Line("ACL LOG"); got != "[]" {
		t.Errorf("ACL LOG behind RESET: %s", got)
	}
	if info := b.Line("INFO stats"); !strings.Contains(info, "acl_access_denied_auth:0") {
		t.Errorf("INFO behind RESETSTAT: %s", info)
	}
}

// TestACLLogOfTransactions takes a right away from a user whose transaction is queued: that is noted if the others of its
// commands are run, and not if nothing is since a watched key has changed.
func TestACLLogOfTransactions(t *testing.T) {
	for _, changed := range []bool{false, true} {
		b := commandtest.New(t, 1<<30)
		b.Line("ACL SETUSER bob on >pw +@all ~*")
		b.Login(t, "bob")
		want, entries := `[-NOPERM ACLs rules changed between`, 1
		lines := []string{"SET watched 1", "WATCH watched", "MULTI", "GET secret", "PING"}
		if changed {
			lines, want, entries = append(lines, "SET watched 2"), "nil", 0
		}
		for _, line := range lines[:5] {
			b.Line(line)
		}
		other := b.Client(2)
		for _, line := range append([]string{"ACL SETUSER bob resetkeys ~watched"}, lines[5:]...) {
			if got := other.Do(strings.Fields(line)...); got != "+OK" {
				t.Fatalf("%s = %s", line, got)
			}
		}
		if got := b.Line("EXEC"); !strings.HasPrefix(got, want) {
			t.Errorf("EXEC = %s, want %s", got, want)
		}
		log, stats := other.Do("ACL", "LOG"), other.Do("INFO", "commandstats")
		if strings.Count(log, `"context" "multi"`) != entries || strings.Count(log, "count") != entries || strings.Contains(stats, "cmdstat_get:calls=0") != (entries == 1) {
			t.Errorf("ACL LOG behind it has not %d entries: %s\n%s", entries, log, stats)
		}
	}
}
