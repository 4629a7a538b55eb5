package server_test

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server"
)

// TestConfigRewrite changes settings and has them written into the file, of which
// all else stays as it was.
func TestConfigRewrite(t *testing.T) {
	name := filepath.Join(t.TempDir(), "bloomery.toml")
	before := "# our server\n" +
		"addr = [\"127.0.0.1:6379\"]\n\n" +
		"max-memory = \"64MiB\" # of \"all\"\n" +
		"  'cf-bucket-size'=2\n" +
		"# idle-timeout = \"1h\"\n" +
		"password = \"a#b\\\"c\" # shared\r\n" +
		"log-level = \"warn\""
	if err := os.WriteFile(name, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	link := name + ".link"
	if err := os.Symlink(name, link); err != nil {
		t.Skip(err)
	}
	check := func(when, want string) {
		t.Helper()
		got, err := os.ReadFile(name)
		if err != nil || string(got) != want {
			t.Errorf("%s: %v, the file is\n%s\nwant\n%s", when, err, got, want)
		}
	}
	c := dial(t, start(t, server.Config{Addr: []string{"127.0.0.1:0"}, Dir: t.TempDir(), File: link, MaxMemory: 64 << 20, MaxClients: 77}))
	c.expect("+OK\r\n", "CONFIG", "REWRITE")
	check("nothing changed", before)
	c.expect("+OK\r\n", "CONFIG", "SET", "maxmemory", "128mb", "cf-bucket-size", "3", "timeout", "90", "appendfsync", "always", "bf-error-rate", "0.001",
		"max-transaction", "1000", "cf-expansion-factor", "0")
	c.expect("+OK\r\n", "CONFIG", "SET", "requirepass", "x\"\\\t#y")
	c.expect("+OK\r\n", "CONFIG", "REWRITE")
	after := "# our server\n" +
		"addr = [\"127.0.0.1:6379\"]\n\n" +
		"max-memory = \"128MiB\" # of \"all\"\n" +
		"  'cf-bucket-size'= 3\n" +
		"# idle-timeout = \"1h\"\n" +
		"password = \"x\\\"\\\\\\u0009#y\" # shared\r\n" +
		"log-level = \"warn\"\n" +
		"fsync = \"always\"\n" +
		"max-transaction = 1000\n" +
		"idle-timeout = \"1m30s\"\n" +
		"bf-error-rate = 0.001\n" +
		"cf-expansion-factor = 0\n"
	check("settings changed", after)
	c.expect("+OK\r\n", "CONFIG", "SET", "maxmemory", "64mb")
	c.expect("+OK\r\n", "CONFIG", "REWRITE")
	check("one changed back", strings.Replace(after, "128MiB", "64MiB", 1))
	if info, err := os.Stat(name); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the mode of the file is %v, %v, want 0600", info.Mode(), err)
	}
	if err := os.WriteFile(name, []byte("password = \"\"\"\nx\"\"\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := c.do("CONFIG", "REWRITE"); !strings.HasPrefix(got, "-ERR Rewriting config file: ") || !strings.Contains(got, "by hand") {
		t.Errorf("CONFIG REWRITE of a file with long strings = %q", got)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if got := c.do("CONFIG", "REWRITE"); !strings.HasPrefix(got, "-ERR Rewriting config file: ") {
		t.Errorf("CONFIG REWRITE without the file = %q", got)
	}
	other := dial(t, start(t, server.Config{Addr: []string{"127.0.0.1:0"}}))
	other.expect("-ERR The server is running without a config file\r\n", "CONFIG", "REWRITE")
	other.expect("-ERR CONFIG SET failed (possibly related to argument 'appendfsync') - this server keeps its data in memory only\r\n", "CONFIG", "SET", "appendfsync", "always")
}

// TestFsyncIsLive changes when writes are durable and counts the fsyncs of the
// log.
func TestFsyncIsLive(t *testing.T) {
	c := dial(t, start(t, server.Config{Addr: []string{"127.0.0.1:0"}, Dir: t.TempDir(), Fsync: server.Never}))
	syncs := func() int {
		n, err := strconv.Atoi(regexp.MustCompile(`log_fsyncs:(\d+)`).FindStringSubmatch(c.do("INFO", "persistence"))[1])
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	set := func() {
		for range 5 {
			c.expect("+OK\r\n", "SET", "k", "v")
		}
	}
	before := syncs()
	set()
	if got := syncs() - before; got != 0 {
		t.Errorf("no: %d fsyncs for 5 writes", got)
	}
	c.expect("-ERR CONFIG SET failed (possibly related to argument 'appendfsync') - argument(s) must be one of the following: everysec, always, no\r\n", "CONFIG", "SET", "appendfsync", "often")
	c.expect("+OK\r\n", "CONFIG", "SET", "appendfsync", "always")
	before = syncs()
	set()
	if got := syncs() - before; got < 5 {
		t.Errorf("always: %d fsyncs for 5 writes", got)
	}
	c.expect("+OK\r\n", "CONFIG", "SET", "appendfsync", "no")
	c.expect("*2\r\n$11\r\nappendfsync\r\n$2\r\nno\r\n", "CONFIG", "GET", "appendfsync")
	before = syncs()
	set()
	if got := syncs() - before; got > 1 { // one may be left over from before
		t.Errorf("no, again: %d fsyncs for 5 writes", got)
	}
}
