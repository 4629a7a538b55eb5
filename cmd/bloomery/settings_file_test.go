// Tests of config check and config show.

package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server"
)

// writeConfig writes a configuration file that nobody else can read.
func writeConfig(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "bloomery.toml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestConfigCheck asks that everything wrong with a file is reported with its line
// and key, by config check and, for the first, by serve.
func TestConfigCheck(t *testing.T) {
	folder := t.TempDir()
	keys := filepath.Join(folder, "keys")
	if err := os.WriteFile(keys, []byte("users = 0001\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	users := filepath.Join(folder, "users.acl")
	if err := os.WriteFile(users, []byte("user default on nopass ~* +@all\nuser bob onn >secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"acl-file = \"" + users + "\"\n":                  ":1: acl-file: " + users + ":2: Syntax error\n",
		"nosuch = 1\n":                                    ":1: nosuch: unknown setting\n",
		"# one\n\nmax-client = 7\n":                       ":3: max-client: unknown setting, did you mean max-clients?\n",
		"config = \"x\"\n":                                ":1: config: unknown setting\n",
		"print-config = true\n":                           ":1: print-config: unknown setting\n",
		"\n[server]\ndir = \"x\"\n":                       ":2: server: unknown setting: settings are not in tables\n",
		"dir.x = 1\n":                                     ":1: dir: want text in quotes, not a table\n",
		"addr = [\n  \"127.0.0.1:1\",\n]\nmax-query=\"\"": ":4: max-query: \"\" is not a number of bytes (65536, 64KiB, 2GB)\n",
		"max-clients = \"7\"\n":                           ":1: max-clients: want a whole number, not text\n",
		"max-clients = 7.5\n":                             ":1: max-clients: want a whole number, not a number\n",
		"max-clients = -1\n":                              ":1: max-clients: \"-1\" is not a whole number below 2^63 (1000, 1e6, 10M)\n",
		"protected-mode = \"no\"\n":                       ":1: protected-mode: want true or false, not text\n",
		"idle-timeout = 5\n":                              ":1: idle-timeout: want text in quotes, not a number\n",
		"idle-timeout = \"5\"\n":                          ":1: idle-timeout: \"5\" is not a duration (90s, 10m, 1h30m, 7d)\n",
		"password = 12345\n":                              ":1: password: want text in quotes, not a number\n",
		"addr = [1]\n":                                    ":1: addr: want a list of texts in quotes, not a number\n",
		"http = \"localhost\"\n":                          ":1: http: \"localhost\": want HOST:PORT, tls:HOST:PORT, plain:HOST:PORT or unix:PATH, or empty for no HTTP\n",
		"addr = \"localhost\"\n":                          ":1: addr: \"localhost\": want HOST:PORT, tls:HOST:PORT, plain:HOST:PORT or unix:PATH\n",
		"addr = \"127.0.0.1:99999\"\n":                    ":1: addr: \"127.0.0.1:99999\": \"99999\" is not a port\n",
		"http = [\"127.0.0.1:x\"]\n":                      ":1: http: ",
		"addr = \"tls:127.0.0.1:1\"\n":                    ":1: addr: \"tls:127.0.0.1:1\": TLS needs a certificate",
		"tls-auth-clients = \"maybe\"\n":                  ":1: tls-auth-clients: ",
		"max-clients = 7\ntls-cert = \"/dev/null\"\n":     ":2: tls-cert: ",
		"addr = \"unix:\"\n":                              ":1: addr: \"unix:\": no path\n",
		"fsync = \"sometimes\"\n":                         ":1: fsync: \"sometimes\": want always, everysec or no\n",
		"cf-bucket-size = 0\n":                            ":1: cf-bucket-size: 0 is too small\n",
		"bf-error-rate = 2\n":                             ":1: bf-error-rate: 2 is not in the range (0, 1)\n",
		"bf-error-rate = nan\n":                           ":1: bf-error-rate: \"NaN\" is not a number from 0 on (0.5, 50%, 2)\n",
		"log-level = \"loud\"\n":                          ":1: log-level: log level \"loud\": want debug, info, warn or error\n",
		"keys = \"/no/such\"\n":                           ":1: keys: /no/such: no such file or directory\n",
		"dir = \"\"\nkeys = \"" + keys + "\"\n":           ":2: keys: " + keys + ", line 1: the key of \"users\": want 32 hexadecimal digits, or @ and the name of a file with them or with the 16 bytes\n",
		"keys = \"" + folder + "\"\n":                     ":1: keys: " + folder + " is not a regular file\n",
		"dir = \"/dev/null/x\"\n":                         ":1: dir: /dev/null/x: not a directory\n",
		"dir = 7:30:00\n":                                 ":1: dir: ",
		"addr = \n":                                       ":1: addr: ",
		"max-clients = 7\nmax-clients = 8\n":              ":2: max-clients: ",
		// Each is in its range, but not together.
		"cf-bucket-size = 200\ncf-initial-size = 300\n": ":2: cf-initial-size: 300 is not in the range [400, ",
	} {
		if runtime.GOOS == "windows" && strings.Contains(text, "/") {
			continue
		}
		name := writeConfig(t, text)
		code, out, errOut := call(t, "config", "check", name)
		if code != 2 || out != "" || !strings.HasPrefix(errOut, name+want) {
			t.Errorf("check of %q = %d, %q, want %s", text, code, errOut, name+want)
		}
		if !strings.HasSuffix(errOut, "bloomery: config check: "+name+": 1 problem\n") {
			t.Errorf("check of %q ends with %q", text, errOut)
		}
		if strings.Contains(text, "keys =") || strings.Contains(text, "acl-file") || strings.Contains(text, "/dev/null/") || strings.HasPrefix(text, "http") {
			continue // serve --print-config opens no files, and tests have BLOOMERY_HTTP
		}
		if code, _, errOut := call(t, "serve", "--config", name, "--print-config"); code != 2 || !strings.HasPrefix(errOut, "bloomery: serve: ") {
			t.Errorf("serve with %q = %d, %q", text, code, errOut)
		}
	}
}

// TestConfigCheckAll asks for all problems of a file at once, and for JSON.
func TestConfigCheckAll(t *testing.T) {
	name := writeConfig(t, "max-clients = \"x\"\ndir = \"\"\nfsync = \"x\"\nnosuch = 1\n")
	code, _, errOut := call(t, "config", "check", name)
	if want := name + ":1: max-clients: want a whole number, not text\n" + name + ":3: fsync: \"x\": want always, everysec or no\n" +
		name + ":4: nosuch: unknown setting\nbloomery: config check: " + name + ": 3 problems\n"; code != 2 || errOut != want {
		t.Errorf("check = %d, %q, want %q", code, errOut, want)
	}
	code, out, _ := call(t, "config", "check", "--json", name)
	if code != 2 || strings.Count(out, "\n") != 3 || !strings.Contains(out, `"line":3,"key":"fsync","problem":"\"x\": want always, everysec or no"`) {
		t.Errorf("check --json = %d, %s", code, out)
	}
	for args, want := range map[string]string{"": "give a configuration file", "/no/such.toml": "/no/such.toml: ", "x y": "no more"} {
		if code, _, errOut := call(t, append([]string{"config", "check"}, strings.Fields(args)...)...); code != 2 || !strings.Contains(errOut, want) {
			t.Errorf("config check %s = %d, %q", args, code, errOut)
		}
	}
	large := writeConfig(t, strings.Repeat("# a comment\n", maxConfig/10))
	if code, _, errOut := call(t, "config", "check", large); code != 2 || !strings.Contains(errOut, "longer than 64 KiB") {
		t.Errorf("a large file = %d, %q", code, errOut)
	}
}

// TestConfigCheckGood asks that files with every setting at its default are taken,
// and that what config show prints is such a file.
func TestConfigCheckGood(t *testing.T) {
	if code, _, errOut := call(t, "config", "check", writeConfig(t, "")); code != 0 || !strings.HasSuffix(errOut, ": ok\n") {
		t.Errorf("an empty file = %d, %q", code, errOut)
	}
	code, out, errOut := call(t, "config", "show")
	if code != 0 {
		t.Fatal(errOut)
	}
	for _, s := range server.Settings() {
		if !strings.Contains(out, "\n"+s.Name+" = ") {
			t.Errorf("config show does not have %s", s.Name)
		}
	}
	name := writeConfig(t, out)
	if code, _, errOut := call(t, "config", "check", name); code != 0 {
		t.Errorf("check of the defaults = %d, %s", code, errOut)
	}
	if code, again, _ := call(t, "config", "show", name); code != 0 || again != out {
		t.Errorf("config show of its own output = %d, %s", code, again)
	}
	if _, printed, _ := call(t, "serve", "--print-config"); printed != out {
		t.Errorf("serve --print-config = %s\nconfig show = %s", printed, out)
	}
	t.Setenv("BLOOMERY_CONFIG", name)
	t.Setenv("BLOOMERY_MAX_CLIENTS", "12")
	if code, out, _ := call(t, "config", "show"); code != 0 || !strings.Contains(out, "\nmax-clients = 12\n") {
		t.Errorf("config show with an environment = %d, %s", code, out)
	}
	if code, out, errOut := call(t, "config", "show", writeConfig(t, "x = 1\n")); code != 2 || out != "" || !strings.Contains(errOut, ":1: x: unknown setting") {
		t.Errorf("config show of a bad file = %d, %s%s", code, out, errOut)
	}
}

// TestSecretsAreNotPrinted sets all secrets, in good files and in bad ones, and
// looks for them in everything that is printed.
func TestSecretsAreNotPrinted(t *testing.T) {
	const value = "opensesame"
	var names []string
	good := ""
	for _, s := range server.Settings() {
		if s.Secret {
			names = append(names, s.Name)
			good += s.Name + " = \"" + value + "\"\n"
		}
	}
	if len(names) == 0 {
		t.Fatal("no setting is secret")
	}
	files := []string{good, good + "nosuch = 1\n", good + "max-clients = -1\n"}
	for _, name := range names {
		files = append(
			files, name+" = "+value+"\n", name+" = \""+value+"\n", name+" = '"+value+"\n", name+" = \"\"\"\n"+value+"\n", name+" = [\""+value+"\"]\n",
			name+" = {"+value+" = 1}\n", "\""+name+"\" = "+value+"\n", name+" = \"\\x"+value+"\"\n", name+" = [\n"+value+"\n]\n",
		)
	}
	for _, text := range files {
		file := writeConfig(t, text)
		for _, args := range [][]string{
			{"config", "check", file}, {"config", "check", "--json", file}, {"config", "show", file}, {"serve", "--config", file, "--print-config"},
		} {
			_, out, errOut := call(t, args...)
			if strings.Contains(out+errOut, value) {
				t.Errorf("%q with %q prints a secret:\n%s%s", args, text, out, errOut)
			}
		}
	}
	for _, s := range server.Settings() {
		if s.Secret {
			t.Setenv(s.Env(), value)
		}
	}
	for _, args := range [][]string{{"config", "show"}, {"serve", "--print-config"}, {"serve", "--help"}, {"man", "serve"}, {"top", "--help"}, {"load", "--help"}} {
		code, out, errOut := call(t, args...)
		if code != 0 || strings.Contains(out+errOut, value) {
			t.Errorf("%q = %d, prints a secret of the environment:\n%s%s", args, code, out, errOut)
		}
	}
	_, out, _ := call(t, "config", "show")
	for _, name := range names {
		if !strings.Contains(out, "# "+name+" is set\n") {
			t.Errorf("config show does not say that %s is set", name)
		}
	}
}

// TestConfigIsReadByOthers warns of a password in a file that others can read.
func TestConfigIsReadByOthers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no modes")
	}
	name := writeConfig(t, "max-clients = 7\npassword = \"x\"\nhttp-token = \"\"\n") // an empty one is no secret
	if err := os.Chmod(name, 0o644); err != nil {
		t.Fatal(err)
	}
	code, _, errOut := call(t, "config", "check", name)
	if want := "warning: " + name + ":2: password: other users can read the file: chmod 600 " + name + "\n" + name + ": ok\n"; code != 0 || errOut != want {
		t.Errorf("check = %d, %q, want %q", code, errOut, want)
	}
	if code, out, _ := call(t, "config", "check", "--json", "-q", name); code != 0 || !strings.Contains(out, `"warning":true`) {
		t.Errorf("check --json = %d, %q", code, out)
	}
}
