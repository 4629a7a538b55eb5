package server

// What files, folders and settings are at their margins.

import (
	"bytes"
	"crypto/x509"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/internal/memory"
)

// writeFile writes a file into a folder of the test and returns its name.
func writeFile(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, mode); err != nil { // whatever the umask
		t.Fatal(err)
	}
	return name
}

// TestSyncOfNoFolder asks for the error of a path that leads nowhere.
func TestSyncOfNoFolder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("folders are not synced")
	}
	if err := syncFolder(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a folder that is not there was synced")
	}
}

// TestSecretFile asks for the secret of a cluster, and for the files that are refused.
func TestSecretFile(t *testing.T) {
	if got, err := readSecret(""); got != "" || err != nil {
		t.Errorf("no file: %q, %v", got, err)
	}
	if got, err := readSecret(writeFile(t, " secret\n", 0o600)); got != "secret" || err != nil {
		t.Errorf("a file: %q, %v", got, err)
	}
	bad := map[string]string{
		"is empty":            writeFile(t, " \n", 0o600),
		"cluster-secret-file": filepath.Join(t.TempDir(), "none"),
	}
	if runtime.GOOS != "windows" {
		bad["chmod 600"] = writeFile(t, "secret", 0o640)
	}
	for want, name := range bad {
		if got, err := readSecret(name); got != "" || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q, %v, want an error with %q", got, err, want)
		}
	}
}

// TestUserFileModes asks for a warning about a file of users that others can read, and
// for none about one that is private.
func TestUserFileModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes")
	}
	for mode, want := range map[os.FileMode]bool{0o600: false, 0o640: true, 0o604: true} {
		name := writeFile(t, "user default on nopass ~* &* +@all\n", mode)
		var log bytes.Buffer
		s, err := New(t.Context(), Config{Addr: []string{"127.0.0.1:0"}, ACLFile: name, Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if got := strings.Contains(log.String(), "can be read by others"); got != want {
			t.Errorf("mode %v: warning is %t, want %t:\n%s", mode, got, want, log.String())
		}
	}
}

// TestClusterDefaults asks for the defaults that Cluster documents.
func TestClusterDefaults(t *testing.T) {
	c, err := Config{Dir: "data", Cluster: &Cluster{Name: "c1", Join: []string{"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"}}}.complete()
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Cluster; got.Addr != "127.0.0.1:6380" || got.Lanes != 8 || got.LaneSize != 1<<30 || got.Timeout != 15*time.Second || got.Protocol != "on" {
		t.Errorf("defaults: %+v", got)
	}
	for addr, want := range map[string]bool{
		"127.0.0.1:1": true, "127.9.9.9:1": true, "localhost:1": true, "[::1]:1": true, "[::ffff:127.0.0.1]:1": true,
		"10.0.0.1:1": false, "[::]:1": false, ":1": false, "example.org:1": false, "127.0.0.1": false, "localhost": false, "": false,
	} {
		if got := isLoopback(addr); got != want {
			t.Errorf("isLoopback(%q) = %t", addr, got)
		}
	}
}

// TestDefaultMaxMemory asks for three quarters of the memory of this process.
func TestDefaultMaxMemory(t *testing.T) {
	limit := int64(memory.Limit())
	if got := defaultMaxMemory(); got > limit*3/4 || got < limit*3/4-3 {
		t.Errorf("defaultMaxMemory() = %d, of %d", got, limit)
	}
}

// TestNextPort asks for addresses beside those that are taken.
func TestNextPort(t *testing.T) {
	for addr, want := range map[string]string{
		"127.0.0.1:6379": "127.0.0.1:6380", "[::1]:1": "[::1]:2", ":65534": ":65535",
		":65535": "127.0.0.1:6380", ":http": "127.0.0.1:6380", "nonsense": "127.0.0.1:6380",
	} {
		if got := nextPort(addr); got != want {
			t.Errorf("nextPort(%q) = %q, want %q", addr, got, want)
		}
	}
}

// TestBehindValue asks for what is kept behind values, also of lines that no reader of
// TOML would take.
func TestBehindValue(t *testing.T) {
	for rest, want := range map[string]string{
		` 1`: "", " 1\n": "\n", " 1\r\n": "\r\n", " 1 # why\n": " # why\n", "": "",
		` "a#b"` + "\n": "\n", ` 'a#b' # c`: " # c", ` "a\"#b" # c` + "\n": " # c\n", ` 'a\' # c`: " # c",
		` "no end`: "", ` "no end # c`: "", `"`: "", `"\`: "", ` 'no end`: "",
	} {
		if got := behindValue(rest); got != want {
			t.Errorf("behindValue(%q) = %q, want %q", rest, got, want)
		}
	}
}

// TestRewriteOfAFileThatStays asks for the error of a configuration file in a folder
// that takes no other: the system's own, where there is one.
func TestRewriteOfAFileThatStays(t *testing.T) {
	s, err := New(t.Context(), Config{Addr: []string{"127.0.0.1:0"}, File: "/proc/version"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	s.settings.MaxClients.Store(5)
	if err := s.rewriteConfig(); err == nil {
		t.Error("rewriteConfig of a file that cannot be replaced succeeded")
	}
	if len(s.rewrite.written) > 0 {
		t.Errorf("settings that count as written: %v", s.rewrite.written)
	}
}

// TestNoHTTPAddressStays asks that after an address of HTTP that cannot be bound the
// ones before it are free: the file of a socket is gone.
func TestNoHTTPAddressStays(t *testing.T) {
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	first := filepath.Join(dir, "first")
	s, err := New(t.Context(), Config{Addr: []string{"127.0.0.1:0"}, HTTP: []string{"unix:" + first, "unix:" + filepath.Join(dir, "none", "second")}})
	if err == nil {
		_ = s.Close()
		t.Fatal("New succeeded")
	}
	if _, err := os.Lstat(first); err == nil {
		t.Error("the first address is still bound")
	}
}

// TestCheckFiles asks that each file of a configuration is read, and what is wrong with
// it.
func TestCheckFiles(t *testing.T) {
	keys := writeFile(t, "users = 000102030405060708090a0b0c0d0e0f\n", 0o600)
	users := writeFile(t, "user default on nopass ~* &* +@all\n", 0o600)
	if err := (Config{KeysFile: keys, ACLFile: users}).CheckFiles(); err != nil {
		t.Error(err)
	}
	for want, c := range map[string]Config{
		"fsync":                {Fsync: "sometimes"},
		"32 hexadecimal":       {KeysFile: users},
		"acl-file: " + keys:    {ACLFile: keys},
		"acl-file: " + "/none": {ACLFile: "/none"},
		"tls-cert: " + users:   {TLSCert: users, TLSKey: users},
	} {
		if err := c.CheckFiles(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
}

// TestDoubts asks for what is said of certificates that are not valid now.
func TestDoubts(t *testing.T) {
	now := time.Date(2030, 6, 1, 0, 0, 0, 0, time.UTC)
	from := func(year int) *x509.Certificate {
		return &x509.Certificate{NotBefore: now.AddDate(year, 0, 0), NotAfter: now.AddDate(year+1, 0, 0)}
	}
	for _, tt := range []struct {
		all  []*x509.Certificate
		want string
	}{
		{[]*x509.Certificate{from(0)}, ""},
		{[]*x509.Certificate{from(-1)}, ""}, // until now
		{[]*x509.Certificate{from(2), from(-5), from(0)}, ""},
		{[]*x509.Certificate{from(2)}, "is not valid before 2032-06-01T00:00:00Z"},
		{[]*x509.Certificate{from(-3)}, "expired at 2028-06-01T00:00:00Z"},
		{[]*x509.Certificate{from(-3), from(2)}, "expired at 2028-06-01T00:00:00Z"},
	} {
		var c certificates
		c.doubt("tls-cert", "file", now, tt.all...)
		if got := errors.Join(c.doubts...); tt.want == "" && got != nil || tt.want != "" && (got == nil || !strings.HasSuffix(got.Error(), tt.want)) {
			t.Errorf("%v, want %q", got, tt.want)
		}
	}
}
