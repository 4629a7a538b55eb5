package clienttest

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.yaml.in/yaml/v3"

	"github.com/bloomery/bloomery/server"
)

// block returns the first block of docs/clients.md in a language.
func block(t *testing.T, language string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "```"+language+"\n")
	text, _, closed := strings.Cut(rest, "```\n")
	if !found || !closed {
		t.Fatalf("docs/clients.md has no block of %s", language)
	}
	return text
}

// TestPage runs the programs of docs/clients.md as they stand there: each prints at the end
// what its last line says. make clients fetches what they need.
func TestPage(t *testing.T) {
	for language, run := range map[string]func(t *testing.T, file string) *exec.Cmd{
		"sh": func(t *testing.T, file string) *exec.Cmd {
			if _, err := exec.LookPath("redis-cli"); err != nil {
				t.Skip("there is no redis-cli")
			}
			return exec.CommandContext(t.Context(), "sh", "-e", file)
		},
		"python": func(t *testing.T, file string) *exec.Cmd {
			python := pythonWithRedis(t)
			if python == "" {
				t.Skip("no Python has redis-py (Debian: python3-redis)")
			}
			return exec.CommandContext(t.Context(), python, file)
		},
		"js": func(t *testing.T, file string) *exec.Cmd {
			modules, err := filepath.Abs("../../bin/node/node_modules")
			check(t, err)
			if _, err := os.Stat(filepath.Join(modules, "redis")); err != nil {
				t.Skip("the package redis of npm is not there: scripts/need-node-redis fetches it")
			}
			check(t, os.Symlink(modules, filepath.Join(filepath.Dir(file), "node_modules")))
			check(t, os.Rename(file, file+".mjs"))
			return exec.CommandContext(t.Context(), "node", file+".mjs")
		},
	} {
		t.Run(language, func(t *testing.T) {
			text := block(t, language)
			_, want, ok := strings.Cut(text, " prints ")
			if !ok {
				t.Fatal("the program does not say what it prints")
			}
			_, port, err := net.SplitHostPort(start(t, server.Config{}))
			check(t, err)
			file := filepath.Join(t.TempDir(), "program")
			check(t, os.WriteFile(file, []byte(strings.ReplaceAll(text, "6379", port)), 0o600))
			cmd := run(t, file)
			cmd.Dir = filepath.Dir(file)
			if out, err := cmd.CombinedOutput(); err != nil || !strings.HasSuffix("\n"+string(out), "\n"+want) {
				t.Errorf("it prints %s, want %s at the end, %v", out, want, err)
			}
		})
	}
}

// goOfPage is the Go program of docs/clients.md, which TestCodeOfDocs compares.
func goOfPage(ctx context.Context, addr string) ([]bool, error) {
	c := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: 3})
	defer c.Close()
	_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error { // one round trip
		p.BFReserve(ctx, "users:go", 0.01, 1_000_000)
		p.BFMAdd(ctx, "users:go", "alice", "bob")
		p.BFAdd(ctx, "users:go", "dave")
		p.Do(ctx, "FILTER.CREATE", "visitors:go", "window", "SPAN", "24h")
		return nil
	})
	if err != nil {
		return nil, err // that of the first command that failed
	}
	return c.BFMExists(ctx, "users:go", "alice", "dave", "nobody").Result() // true, true, false
}

func TestPageGo(t *testing.T) {
	found, err := goOfPage(t.Context(), start(t, server.Config{}))
	if err != nil || !slices.Equal(found, []bool{true, true, false}) {
		t.Errorf("%v, %v, want true, true, false", found, err)
	}
}

// TestPageProbes asks a server what the probes for Kubernetes ask, from outside and without
// credentials.
func TestPageProbes(t *testing.T) {
	var pod map[string]any
	check(t, yaml.Unmarshal([]byte(block(t, "yaml")), &pod))
	handler := open(t, server.Config{Password: "secret", HTTPToken: "token", ProtectedMode: true}).Handler()
	asked := 0
	for name, probe := range pod {
		probe, ok := probe.(map[string]any)
		if !ok || probe["httpGet"] == nil {
			continue
		}
		path, _ := probe["httpGet"].(map[string]any)["path"].(string)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.Host, r.RemoteAddr = "10.0.0.5:8379", "10.0.0.9:1"
		w := httptest.NewRecorder()
		if handler.ServeHTTP(w, r); w.Code != http.StatusOK {
			t.Errorf("%s: %s answers %d: %s", name, path, w.Code, w.Body)
		}
		asked++
	}
	if asked != 1 {
		t.Errorf("%d probes ask by HTTP, want 1", asked)
	}
}
