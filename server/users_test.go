package server_test

import (
	"encoding/base64"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server"
)

// writeUsers writes a file of users and returns its name.
func writeUsers(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "users.acl")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

const usersText = `user default on >top ~* &* +@all
user alice on >a1 addrate=1000 ~alice:* %R~shared:* +@bloom +@read -@delete

user off ~* +@all
`

// TestUserFile asks that users come from the file, that ACL SAVE writes it, and that
// what it wrote makes the same users.
func TestUserFile(t *testing.T) {
	name := writeUsers(t, usersText)
	c := dial(t, start(t, server.Config{ACLFile: name, Password: "not this"}))
	c.expect("-NOAUTH Authentication required.\r\n", "PING")
	c.expect("-WRONGPASS invalid username-password pair or user is disabled.\r\n", "AUTH", "not this")
	c.expect("-WRONGPASS invalid username-password pair or user is disabled.\r\n", "AUTH", "off", "")
	c.expect("+OK\r\n", "AUTH", "alice", "a1")
	c.expect(":1\r\n", "BF.ADD", "alice:f", "x")
	c.expect("-NOPERM No permissions to access a key\r\n", "BF.ADD", "shared:f", "x")
	c.expect(":0\r\n", "BF.EXISTS", "shared:f", "x")
	c.expect("-NOPERM User alice has no permissions to run the 'del' command\r\n", "DEL", "alice:f")
	c.expect("+OK\r\n", "AUTH", "top")
	before := c.do("ACL", "LIST")
	c.expect("+OK\r\n", "ACL", "SAVE")
	c.expect("+OK\r\n", "ACL", "LOAD")
	if after := c.do("ACL", "LIST"); after != before {
		t.Errorf("ACL LIST behind SAVE and LOAD\n got %s\nwant %s", after, before)
	}
	data, err := os.ReadFile(name)
	if err != nil || !strings.Contains(string(data), " addrate=1000 ") || strings.Contains(string(data), "a1") || strings.Count(string(data), "\n") != 3 {
		t.Errorf("the file is %q, %v", data, err)
	}
	if info, err := os.Stat(name); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v, %v", info.Mode(), err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(name), ".*")); len(left) > 0 {
		t.Errorf("ACL SAVE leaves %q behind", left)
	}
	c.expect("*2\r\n$7\r\naclfile\r\n$"+strconv.Itoa(len(name))+"\r\n"+name+"\r\n", "CONFIG", "GET", "aclfile")
}

// TestUserFileReplaced has ACL SAVE write a file that others could read, by way of a
// link.
func TestUserFileReplaced(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes")
	}
	name := writeUsers(t, usersText)
	if err := os.Chmod(name, 0o644); err != nil {
		t.Fatal(err)
	}
	link := name + ".link"
	if err := os.Symlink(name, link); err != nil {
		t.Skip(err)
	}
	c := dial(t, start(t, server.Config{ACLFile: link}))
	c.expect("+OK\r\n", "AUTH", "top")
	c.expect("+OK\r\n", "ACL", "SETUSER", "bob", "on", "nopass")
	c.expect("+OK\r\n", "ACL", "SAVE")
	data, err := os.ReadFile(name)
	if err != nil || !strings.Contains(string(data), "user bob on nopass") {
		t.Errorf("the file is %q, %v", data, err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link has mode %v, %v", info.Mode(), err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v, %v", info.Mode(), err)
	}
	if err := os.Chmod(filepath.Dir(name), 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Dir(name), 0o700) })
	if os.Geteuid() != 0 { // root writes everywhere
		if got := c.do("ACL", "SAVE"); !strings.HasPrefix(got, "-ERR There was an error trying to save the ACLs: ") {
			t.Errorf("ACL SAVE into a folder that is read-only: %q", got)
		}
	}
}

// TestBadUserFile asks that a bad line is refused, with file and line, at the start and
// later, and that the old users stay in force.
func TestBadUserFile(t *testing.T) {
	bad := writeUsers(t, "user alice on nopass\nuser bob on >s3cret +nothing\n")
	if s, err := server.New(t.Context(), server.Config{Addr: []string{"127.0.0.1:0"}, ACLFile: bad}); err == nil {
		_ = s.Close()
		t.Error("a bad file is taken at the start")
	} else if want := "server: acl-file: " + bad + ":2: Unknown command or category name in ACL: '+nothing'"; err.Error() != want {
		t.Errorf("at the start: %v, want %s", err, want)
	}
	if s, err := server.New(t.Context(), server.Config{Addr: []string{"127.0.0.1:0"}, ACLFile: bad + ".none"}); err == nil {
		_ = s.Close()
		t.Error("a file that is not there is taken at the start")
	} else if !strings.Contains(err.Error(), bad+".none") {
		t.Errorf("without a file: %v", err)
	}
	if s, err := server.New(t.Context(), server.Config{Addr: []string{"127.0.0.1:0"}, ACLFile: t.TempDir()}); err == nil {
		_ = s.Close()
		t.Error("a folder is taken at the start")
	} else if !strings.Contains(err.Error(), "is not a regular file") {
		t.Errorf("with a folder: %v", err)
	}

	name := writeUsers(t, usersText)
	addr := start(t, server.Config{ACLFile: name})
	c, alice := dial(t, addr), dial(t, addr)
	c.expect("+OK\r\n", "AUTH", "top")
	alice.expect("+OK\r\n", "AUTH", "alice", "a1")
	before := c.do("ACL", "LIST")
	if err := os.WriteFile(name, []byte("user alice off\n\nuser default on s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.expect("-ERR "+name+":3: Syntax error. WARNING: ACL errors detected, no change to the previously active ACL rules was performed\r\n", "ACL", "LOAD")
	if after := c.do("ACL", "LIST"); after != before {
		t.Errorf("a bad file has changed users: %s", after)
	}
	alice.expect(":1\r\n", "BF.ADD", "alice:f", "x")
}

// TestReloadedUsers asks that rights change at once, and that users who are gone lose
// their connections.
func TestReloadedUsers(t *testing.T) {
	name := writeUsers(t, usersText+"user bob on >b ~* +@all\n")
	addr := start(t, server.Config{ACLFile: name})
	c, alice, bob := dial(t, addr), dial(t, addr), dial(t, addr)
	c.expect("+OK\r\n", "AUTH", "top")
	alice.expect("+OK\r\n", "AUTH", "alice", "a1")
	bob.expect("+OK\r\n", "AUTH", "bob", "b")
	if err := os.WriteFile(name, []byte("user alice on >a2 ~other:* +@all\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.expect("+OK\r\n", "ACL", "LOAD")
	alice.expect("-NOPERM No permissions to access a key\r\n", "BF.ADD", "alice:f", "x")
	alice.expect(":1\r\n", "BF.ADD", "other:f", "x")
	if !bob.closed() {
		t.Error("the connection of a user who is gone is open")
	}
	// Without its line the user default is as a server without a file has it.
	dial(t, addr).expect("+PONG\r\n", "PING")
}

// TestReloadOfUsers asks the same of Reload, which SIGHUP calls.
func TestReloadOfUsers(t *testing.T) {
	name := writeUsers(t, usersText)
	s := open0(t, server.Config{ACLFile: name})
	alice := inside(t, s)
	alice.expect("+OK\r\n", "AUTH", "alice", "a1")
	if err := os.WriteFile(name, []byte("user alice on\nuser default on +nothing\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Reload(); err == nil || err.Error() != "server: acl-file: "+name+":2: Unknown command or category name in ACL: '+nothing'" {
		t.Errorf("Reload of a bad file: %v", err)
	}
	alice.expect(":1\r\n", "BF.ADD", "alice:f", "x")
	for _, text := range []string{"", "user alice on\n", "user default on nopass +@all\n"} { // of a file that is being written, say
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := s.Reload(); err == nil || !strings.Contains(err.Error(), "clients that need a password now would need none") {
			t.Errorf("Reload of users who let everyone in: %v", err)
		}
	}
	inside(t, s).expect("-NOAUTH Authentication required.\r\n", "BF.ADD", "alice:f", "y")
	if err := os.WriteFile(name, []byte("user alice on\nuser default off\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Reload(); err != nil {
		t.Errorf("Reload: %v", err)
	}
	alice.expect("-NOPERM User alice has no permissions to run the 'bf.add' command\r\n", "BF.ADD", "alice:f", "x")
}

// TestHTTPUsers asks that users have the same rights over HTTP, and that the token has
// all of them.
func TestHTTPUsers(t *testing.T) {
	name := writeUsers(t, "user default off\nuser alice on >pw addrate=2 ~alice:* %R~shared:* +@all -@delete\nuser free on nopass +@all ~*\n")
	b, s := surf(t, server.Config{ACLFile: name, HTTPToken: "letmein", HTTPAdmin: true, ProtectedMode: true})
	b.expect(401, "unauthorized", "GET", "/api/v1/filters", "")
	token := b.with("Authorization", "Bearer letmein")
	for _, filter := range []string{"alice:f", "shared:f", "other:f"} {
		token.expect(201, "", "POST", "/api/v1/filters", `{"name": "`+filter+`", "kind": "bloom"}`)
	}
	alice := b.with("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("alice:pw")))
	names := filterNames(alice.get("/api/v1/filters"))
	slices.Sort(names)
	if !slices.Equal(names, []string{"alice:f", "shared:f"}) {
		t.Errorf("alice sees %q", names)
	}
	alice.expect(200, "", "POST", "/api/v1/filters/alice:f/add", `{"items": ["a", "b"]}`)
	alice.expect(429, "too_many_adds", "POST", "/api/v1/filters/alice:f/add", `{"items": ["c"]}`)
	alice.expect(403, "forbidden", "POST", "/api/v1/filters/shared:f/add", `{"items": ["a"]}`)
	alice.expect(403, "forbidden", "GET", "/api/v1/filters/other:f", "")
	alice.expect(403, "forbidden", "DELETE", "/api/v1/filters/alice:f", "")
	// A user without a password has proven nothing.
	b.remote = "192.0.2.7:1"
	free := b.with("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("free:x")))
	free.expect(401, "unauthorized", "DELETE", "/api/v1/filters/alice:f", "")
	c := inside(t, s)
	c.expect("-NOAUTH Authentication required.\r\n", "PING")
	c.expect("+OK\r\n", "AUTH", "free", "")
	c.expect(":1\r\n", "ACL", "DELUSER", "alice")
	alice.expect(401, "unauthorized", "GET", "/api/v1/filters", "")
}

// TestDeletedUser asks that connections of a deleted user are closed, that of the
// caller when the command is answered.
func TestDeletedUser(t *testing.T) {
	addr := start(t, server.Config{})
	c, bob, self := dial(t, addr), dial(t, addr), dial(t, addr)
	c.expect("+OK\r\n", "ACL", "SETUSER", "bob", "on", ">b", "~*", "+@all")
	c.expect("+OK\r\n", "ACL", "SETUSER", "self", "on", ">s", "~*", "+@all")
	bob.expect("+OK\r\n", "AUTH", "bob", "b")
	self.expect("+OK\r\n", "AUTH", "self", "s")
	if got := c.do("CLIENT", "LIST"); strings.Count(got, "user=bob") != 1 || strings.Count(got, "user=default") != 1 {
		t.Errorf("CLIENT LIST: %s", got)
	}
	c.expect(":1\r\n", "ACL", "DELUSER", "bob")
	if !bob.closed() {
		t.Error("the connection of a deleted user is open")
	}
	self.expect(":1\r\n", "ACL", "DELUSER", "self")
	if !self.closed() {
		t.Error("the connection of a caller who is deleted is open")
	}
	other := dial(t, addr)
	c.expect("+OK\r\n", "ACL", "SETUSER", "eve", "on", "nopass", "+@all")
	other.expect("+OK\r\n", "AUTH", "eve", "x")
	c.expect(":1\r\n", "CLIENT", "KILL", "USER", "eve")
	if !other.closed() {
		t.Error("CLIENT KILL USER has left a connection open")
	}
	c.expect("+PONG\r\n", "PING")
}

// TestProtectedModeOfUsers asks that a password set by ACL counts as requirepass does.
func TestProtectedModeOfUsers(t *testing.T) {
	ip := outsideAddr(t)
	name := writeUsers(t, "user default on >pw ~* +@all\n")
	addr := start(t, server.Config{Addr: []string{"0.0.0.0:0"}, ACLFile: name, ProtectedMode: true})
	_, port, _ := net.SplitHostPort(addr)
	dial(t, net.JoinHostPort(ip, port)).expect("-NOAUTH Authentication required.\r\n", "PING")
}

// TestHTTPSecrets asks that a secret key is for the names of its patterns over HTTP, too:
// for a filter that is created, and for one that is rebuilt. HTTP neither loads nor
// restores filters.
func TestHTTPSecrets(t *testing.T) {
	const key = "00112233445566778899aabbccddeeff"
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte("closed ~closed:* = "+key+"\nopen = ff"+key[2:]+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	name := writeUsers(t, "user default off\nuser alice on >pw ~alice:* +@all\nuser bob on >pw ~closed:* +@all\n")
	b, _ := surf(t, server.Config{ACLFile: name, KeysFile: file, HTTPToken: "letmein", HTTPAdmin: true})
	token := b.with("Authorization", "Bearer letmein")
	as := func(user string) *browser {
		return b.with("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user+":pw")))
	}
	create := func(name, id string) string {
		return `{"name": "` + name + `", "kind": "bloom", "keyed": "` + id + `"}`
	}
	as("alice").expect(201, "", "POST", "/api/v1/filters", `{"name": "alice:plain", "kind": "bloom"}`)
	for _, id := range []string{"closed", "open", "missing"} {
		as("alice").expect(403, "forbidden", "POST", "/api/v1/filters", create("alice:f", id))
		as("alice").expect(403, "forbidden", "POST", "/api/v1/filters/alice:plain/rebuild", `{"step": "begin", "new_key": "`+id+`"}`)
	}
	as("bob").expect(403, "forbidden", "POST", "/api/v1/filters", create("closed:f", "open"))
	as("bob").expect(201, "", "POST", "/api/v1/filters", create("closed:f", "closed"))
	as("bob").expect(200, "", "POST", "/api/v1/filters/closed:f/add", `{"items": ["a"]}`)
	token.expect(403, "forbidden", "POST", "/api/v1/filters", create("alice:f", "closed"))
	token.expect(201, "", "POST", "/api/v1/filters", create("alice:f", "open"))
	token.expect(200, "", "POST", "/api/v1/filters/alice:plain/rebuild", `{"step": "begin", "new_key": "open"}`)
}
