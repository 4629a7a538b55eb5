// Tests of the program as a whole: version, usage, settings, serve.

package main

import (
	"bufio"
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/internal/ports"
)

// call runs a command line and returns its exit code and output.
func call(t *testing.T, args ...string) (code int, out, errOut string) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(t.Context(), args, strings.NewReader(""), &o, &e)
	return code, o.String(), e.String()
}

func TestVersion(t *testing.T) {
	code, out, _ := call(t, "version")
	if code != 0 || !strings.HasPrefix(out, "bloomery ") {
		t.Errorf("version = %d, %q", code, out)
	}
	code, out, _ = call(t, "version", "--json")
	if code != 0 || !strings.Contains(out, `"version":`) {
		t.Errorf("version --json = %d, %q", code, out)
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"serve", "--nosuch"}, {"nosuch"}, {"serve", "--max-memory", "much"}, {"serve", "--log-level", "loud"}} {
		if code, _, errOut := call(t, args...); code != 2 || !strings.HasPrefix(errOut, "bloomery: ") {
			t.Errorf("%q = %d, %q, want 2 and an error", args, code, errOut)
		}
	}
	if code, out, _ := call(t); code != 0 || !strings.Contains(out, "serve") {
		t.Errorf("no arguments = %d, %q, want help", code, out)
	}
}

// TestSettings asks for the order flag, environment, file, default.
func TestSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bloomery.toml")
	write := func(s string) {
		if err := os.WriteFile(file, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("addr = \"127.0.0.1:1\"\nmax-memory = \"1GiB\"\nmax-clients = 5\nbf-error-rate = 0.001\nidle-timeout = \"5m\"\n")
	t.Setenv("BLOOMERY_MAX_MEMORY", "2GiB")
	t.Setenv("BLOOMERY_MAX_CLIENTS", "6")
	t.Setenv("BLOOMERY_PASSWORD", "opensesame")
	code, out, errOut := call(t, "serve", "--config", file, "--max-clients", "7", "--print-config")
	if code != 0 {
		t.Fatalf("print-config = %d, %s", code, errOut)
	}
	for _, want := range []string{
		`addr = "127.0.0.1:1"`, `max-memory = "2GiB"`, `max-clients = 7`, `bf-error-rate = 0.001`, `idle-timeout = "5m0s"`,
		`cf-bucket-size = 2`, `# password is set`,
	} {
		if !strings.Contains(out, want+"\n") {
			t.Errorf("print-config has no line %s:\n%s", want, out)
		}
	}
	if strings.Contains(out, "opensesame") {
		t.Error("print-config shows the password")
	}
	// What was printed can be read again and means the same.
	for _, name := range []string{"BLOOMERY_MAX_MEMORY", "BLOOMERY_MAX_CLIENTS"} {
		if err := os.Unsetenv(name); err != nil {
			t.Fatal(err)
		}
	}
	write(out)
	if code, again, errOut := call(t, "serve", "--config", file, "--print-config"); code != 0 || again != out {
		t.Errorf("print-config of its own output = %d, %s\n%s", code, errOut, again)
	}
	for _, bad := range []string{"nosuch = 1\n", "max-clients = \"many\"\n", "addr = \n", "cf-bucket-size = 0\n", "config = \"x\"\n"} {
		write(bad)
		if code, _, errOut := call(t, "serve", "--config", file, "--print-config"); code != 2 || errOut == "" {
			t.Errorf("file %q = %d, %q, want 2 and an error", bad, code, errOut)
		}
	}
}

func TestServe(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var out, errOut bytes.Buffer
	addr := ports.Free(t, 1)[0]
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir() + "/data"
	if code, _, errOut := call(t, "serve", "--dir", dir, "--addr", addr); code != 2 || !strings.Contains(errOut, "hint: choose another port with --addr 127.0.0.1:") {
		t.Errorf("taken port = %d, %q, want 2 and the flag to set", code, errOut)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, []string{"serve", "--dir", dir, "--addr", addr, "--log-format", "json"}, strings.NewReader(""), &out, &errOut)
	}()
	reply := ""
	for end := time.Now().Add(time.Minute); reply == "" && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if nc, err := new(net.Dialer).DialContext(ctx, "tcp", addr); err == nil {
			_, _ = nc.Write([]byte("PING\r\n"))
			reply, _ = bufio.NewReader(nc).ReadString('\n')
			_ = nc.Close()
		}
	}
	if reply != "+PONG\r\n" {
		t.Errorf("PING = %q", reply)
	}
	cancel()
	if code := <-done; code != 0 {
		t.Errorf("serve = %d, %s", code, errOut.String())
	}
	if !strings.Contains(errOut.String(), `"msg":"ready"`) || !strings.Contains(errOut.String(), `"msg":"stopped"`) || out.Len() > 0 {
		t.Errorf("log = %s, output = %s", errOut.String(), out.String())
	}
}
