package server

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestCheckFiles asks that each file of a configuration is read, and what is wrong with
// it.
func TestCheckFiles(t *testing.T) {
	keys := writeFile(t, "users = 000102030405060708090a0b0c0d0e0f\n", 0o600)
	users := writeFile(t, "user default on nopass ~* &* +@all\n", 0o600)
	if err := (Config{KeysFile: keys, ACLFile: users}).CheckFiles(); err != nil {
		t.Error(err)
	}
	for want, c := range map[string]Config{
		"fsync":                {Fsync: 3},
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

// TestSyncOfNoFolder asks for the error of a path that leads nowhere.
func TestSyncOfNoFolder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("folders are not synced")
	}
	if err := syncFolder(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a folder that is not there was synced")
	}
}

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
