package server_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server"
)

// TestHTTPDocs runs the curl commands of docs/http-api.md as they stand there: each
// answers what the line behind it says.
func TestHTTPDocs(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("there is no curl")
	}
	text, err := os.ReadFile("../docs/http-api.md")
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for i, block := range strings.Split(string(text), "```") {
		kind, block, _ := strings.Cut(block, "\n")
		if i%2 == 0 || !strings.HasPrefix(kind, "sh") {
			continue
		}
		c := server.Config{HTTPAdmin: true}
		if kind == "sh token" {
			c.HTTPToken = "letmein"
		}
		_, addr, stop := serveHTTP(t, c)
		lines := strings.Split(strings.TrimSpace(block), "\n")
		for len(lines) > 1 {
			command, want := lines[0], strings.TrimPrefix(lines[1], "# ")
			lines = lines[2:]
			out, err := exec.CommandContext(t.Context(), "sh", "-c", strings.ReplaceAll(command, "localhost:8379", addr)).CombinedOutput()
			if err != nil || !strings.Contains(string(out), want) {
				t.Errorf("%s\n%s\nwant %s in it, %v", command, out, want, err)
			}
			ran++
		}
		if len(lines) != 0 {
			t.Errorf("no answer stands behind %q", lines)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	}
	if ran < 15 {
		t.Errorf("%d commands were found", ran)
	}
}
