package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server"
)

// TestKeysFile asks for what a file of keys may hold and who may read it, and that no
// error shows a key.
func TestKeysFile(t *testing.T) {
	const key = "00112233445566778899aabbccddeeff"
	for name, tt := range map[string]struct {
		text string
		mode os.FileMode
		err  string
	}{
		"fine":      {"# a comment\n\nusers = " + key + "\n other=" + strings.ToUpper(key) + "\n", 0o600, ""},
		"empty":     {"", 0o600, ""},
		"read only": {"users = " + key, 0o400, ""},
		"open":      {"users = " + key, 0o640, "mode 0640"},
		"no id":     {" = " + key, 0o600, "line 1"},
		"no sign":   {"\nusers " + key, 0o600, "line 2"},
		"short":     {"users = " + key[2:], 0o600, `the key of "users": want 32 hexadecimal digits, or @`},
		"no digits": {"users = " + strings.Replace(key, "0", "g", 1), 0o600, "hexadecimal"},
		"file":      {"users ~u* = @KEY", 0o600, ""},
		"no file":   {"users = @KEYS", 0o600, "no such file"},
		"no key":    {"users = @LINES", 0o600, "neither 16 bytes nor 32 hexadecimal digits"},
		"16 digits": {"users = " + key[:16], 0o600, "want 32 hexadecimal digits"},
		"twice":     {"a = " + key + "\na = " + key, 0o600, "line 2"},
		"patterns":  {"users ~users:*   ~a=b* = " + key + "\nother~=" + key, 0o600, ""},
		"no tilde":  {"users users:* = " + key, 0o600, "patterns of names that begin with ~"},
		"bare":      {"users ~ = " + key, 0o600, "line 1"},
		"only one":  {"~users = " + key, 0o600, "line 1"},
	} {
		if runtime.GOOS == "windows" && tt.mode == 0o640 {
			continue
		}
		file := filepath.Join(t.TempDir(), "lines")
		raw := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(raw, []byte("0123456789abcdef"), 0o600); err != nil {
			t.Fatal(err)
		}
		tt.text = strings.NewReplacer("@KEYS", "@"+raw+"s", "@KEY", "@"+raw, "@LINES", "@"+file).Replace(tt.text)
		if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, tt.mode); err != nil {
			t.Fatal(err)
		}
		s, err := server.New(t.Context(), server.Config{Addr: []string{"127.0.0.1:0"}, KeysFile: file})
		if err == nil {
			err2 := s.Close()
			if err2 != nil {
				t.Error(err2)
			}
		}
		switch {
		case tt.err == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
			t.Errorf("%s: %v, want an error with %q", name, err, tt.err)
		case err != nil && strings.Contains(strings.ToLower(err.Error()), key[4:20]):
			t.Errorf("%s: the error shows the key: %v", name, err)
		}
	}
	if _, err := server.New(t.Context(), server.Config{Addr: []string{"127.0.0.1:0"}, KeysFile: filepath.Join(t.TempDir(), "none")}); err == nil {
		t.Error("a file that is not there is not an error")
	}
}

// TestKeysAreForFilters attacks a filter with a secret key: a tenant who may not touch it
// makes one of the same shape and key, where the server lets him, and has it name false
// positives of the other. Patterns in the file of keys name the filters that may have a
// key; one without them is for users with the right to all keys. A reload changes that.
func TestKeysAreForFilters(t *testing.T) {
	const key = "00112233445566778899aabbccddeeff"
	file := filepath.Join(t.TempDir(), "keys")
	writeFile(t, file, []byte("users = "+key+"\n"))
	s := open0(t, server.Config{KeysFile: file})
	admin, bob := inside(t, s), inside(t, s)
	admin.expect("+OK\r\n", "ACL", "SETUSER", "bob", "on", ">pw", "+@all", "~bob:*")
	bob.expect("+OK\r\n", "AUTH", "bob", "pw")
	admin.expect("+OK\r\n", "FILTER.CREATE", "secret:f", "bloom", "CAPACITY", "1000", "KEYED", "users")
	attack := func() (made bool) {
		t.Helper()
		got := bob.do("FILTER.CREATE", "bob:f", "bloom", "CAPACITY", "1000", "KEYED", "users")
		if strings.HasPrefix(got, "-NOPERM the secret key 'users' is not for a filter of this name") {
			return false
		}
		if got != "+OK\r\n" {
			t.Fatalf("FILTER.CREATE: %q", got)
		}
		items := []string{"FILTER.ADD", "bob:f"}
		for i := range 1000 {
			items = append(items, fmt.Sprint("public", i))
		}
		bob.do(items...)
		items[0], items[1] = "FILTER.ADD", "secret:f"
		admin.do(items...)
		wrong, both := 0, 0
		for i := range 3000 {
			item := fmt.Sprint("guess", i)
			if bob.do("FILTER.HAS", "bob:f", item) == "*1\r\n:1\r\n" {
				wrong++
				if admin.do("FILTER.HAS", "secret:f", item) == "*1\r\n:1\r\n" {
					both++
				}
			}
		}
		t.Logf("%d of %d false positives are those of the filter of others, too", both, wrong)
		bob.do("DEL", "bob:f")
		return true
	}
	if attack() {
		t.Error("a key without patterns can be used by a user who may not touch all keys")
	}
	for patterns, want := range map[string]bool{"~secret:*": false, "~secret:* ~bob:?": true, "~*": true} {
		writeFile(t, file, []byte("users "+patterns+" = "+key+"\n"))
		if err := s.Reload(); err != nil {
			t.Fatal(err)
		}
		if got := attack(); got != want {
			t.Errorf("%s: the attack can be tried: %t, want %t", patterns, got, want)
		}
	}
	writeFile(t, file, []byte("users ~bob:* = "+key+"\n"))
	c := inside(t, open0(t, server.Config{KeysFile: file})) // patterns are in force from the start
	c.expect("+OK\r\n", "FILTER.CREATE", "bob:f", "bloom", "KEYED", "users")
	if got := c.do("FILTER.CREATE", "secret:f", "bloom", "KEYED", "users"); !strings.HasPrefix(got, "-NOPERM") {
		t.Errorf("a filter of another name: %q", got)
	}
}

// TestFilterReplies asks for the bytes of replies in both protocols.
func TestFilterReplies(t *testing.T) {
	var calls [][]string
	replies := map[int][]string{}
	for _, tt := range []struct {
		args         []string
		resp2, resp3 string
	}{
		{[]string{"FILTER.CREATE", "f", "cuckoo", "CAPACITY", "100", "NX"}, ":1\r\n", ":1\r\n"},
		{[]string{"FILTER.ADD", "f", "a", "b", "a"}, "*3\r\n:1\r\n:1\r\n:0\r\n", "*3\r\n#t\r\n#t\r\n#f\r\n"},
		{[]string{"FILTER.HAS", "f", "a", "x"}, "*2\r\n:1\r\n:0\r\n", "*2\r\n#t\r\n#f\r\n"},
		{[]string{"FILTER.COUNT", "f", "a", "x"}, "*2\r\n:2\r\n:0\r\n", "*2\r\n:2\r\n:0\r\n"},
		{[]string{"FILTER.DEL", "f", "a"}, "*1\r\n:1\r\n", "*1\r\n#t\r\n"},
		{[]string{"FILTER.CARD", "f"}, ":2\r\n", ":2\r\n"},
		{[]string{"FILTER.CREATE", "p", "cuckoo", "CAPACITY", "100", "PARTS", "4"}, "+OK\r\n", "+OK\r\n"},
		{[]string{"FILTER.ADD", "p", "a", "b", "a"}, "*3\r\n:1\r\n:1\r\n:0\r\n", "*3\r\n#t\r\n#t\r\n#f\r\n"},
		{[]string{"FILTER.CREATE", "b", "bloom"}, "+OK\r\n", "+OK\r\n"},
		{[]string{"FILTER.SIMILAR", "b", "b"}, "$1\r\n1\r\n", ",1\r\n"},
		{[]string{"FILTER.WHERE", "f", "b"}, "*2\r\n$1\r\nb\r\n*1\r\n$1\r\nf\r\n", "%1\r\n$1\r\nb\r\n*1\r\n$1\r\nf\r\n"},
		{[]string{"FILTER.DUMP", "b", "1"}, "*2\r\n:0\r\n$0\r\n\r\n", "*2\r\n:0\r\n$0\r\n\r\n"},
		{[]string{"FILTER.ADD", "none", "a"}, "-ERR not found\r\n", "-ERR not found\r\n"},
	} {
		for proto, want := range map[int]string{2: tt.resp2, 3: tt.resp3} {
			replies[proto] = append(replies[proto], want)
		}
		calls = append(calls, tt.args)
	}
	for proto, want := range replies {
		c := open(t, proto)
		for i, args := range calls {
			if got := c.do(args...); got != want[i] {
				t.Errorf("RESP%d: %v = %q, want %q", proto, args, got, want[i])
			}
		}
		for _, cmd := range [][]string{{"FILTER.INFO", "f"}, {"FILTER.KINDS"}, {"FILTER.PLAN", "1000", "0.01"}, {"FILTER.INFO", "f", "JSON"}} {
			got := c.do(cmd...)
			first := map[string]string{"FILTER.KINDS": "*"}[cmd[0]]
			switch {
			case len(cmd) == 3 && cmd[2] == "JSON":
				first = "$"
			case first == "" && proto == 3:
				first = "%"
			case first == "":
				first = "*"
			}
			if !strings.HasPrefix(got, first) {
				t.Errorf("RESP%d: %v = %.40q, want %s…", proto, cmd, got, first)
			}
		}
	}
}
