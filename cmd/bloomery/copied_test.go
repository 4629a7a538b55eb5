// A test that the commands which the page offers for copying run.

package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server"
)

// copiedCommands asks the page's calculator for the commands of a kind.
func copiedCommands(t *testing.T, query url.Values) []string {
	t.Helper()
	w := httptest.NewRecorder()
	server.Page().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/calc?"+query.Encode(), http.NoBody))
	var answer struct {
		Copy []struct{ ID, Text string }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%s = %d, %v: %s", query.Encode(), w.Code, err, w.Body)
	}
	for _, c := range answer.Copy {
		if c.ID == "shell" {
			return strings.Split(strings.TrimSuffix(c.Text, "\n"), "\n")
		}
	}
	t.Fatalf("no command line in %s", w.Body)
	return nil
}

// TestCopiedCommands runs the command lines that the page's calculator offers, as they
// are, for every kind and every figure.
func TestCopiedCommands(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("keys.txt", []byte("apple\nbanana\ncherry\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	built := 0
	for _, query := range []url.Values{
		{"n": {"1000"}, "p": {"1in1000"}, "kind": {"bloom"}},
		{"n": {"1000"}, "m": {"2KiB"}, "kind": {"standard"}},
		{"p": {"1%"}, "m": {"2KiB"}, "kind": {"partitioned"}},
		{"bits": {"12"}, "kind": {"split"}},
		{"bits": {"12"}, "m": {"12000"}, "kind": {"scalable"}},
		{"n": {"1000"}, "bits": {"60"}, "kind": {"counting"}},
		{"k": {"7"}, "kind": {"spectral"}},
		{"n": {"1000"}, "p": {"1%"}, "k": {"3"}, "kind": {"cuckoo"}},
		{"n": {"1000"}, "p": {"1%"}, "needs": {"deletes,growth"}, "kind": {"growing"}},
		{"n": {"1000"}, "p": {"1%"}, "needs": {"deletes,counts"}, "kind": {"quotient"}},
		{"n": {"1000"}, "p": {"1%"}, "needs": {"expiry"}, "kind": {"stable"}},
		{"n": {"1000"}, "p": {"1%"}, "needs": {"expiry"}, "kind": {"window"}},
		{"n": {"1000"}, "p": {"1%"}, "needs": {"immutable,adversary"}, "kind": {"fuse"}},
		{"n": {"1000"}, "p": {"1%"}, "needs": {"immutable"}, "kind": {"ribbon"}},
		{"n": {"1000"}, "p": {"1%"}, "needs": {"writers"}, "kind": {"concurrent"}},
	} {
		for _, line := range copiedCommands(t, query) {
			words := strings.Fields(line)
			if words[0] != "bloomery" {
				t.Fatalf("%q is no command of bloomery", line)
			}
			code, out, errOut := call(t, words[1:]...)
			if code != exitOK {
				t.Errorf("%s = %d, %s", line, code, errOut)
			}
			switch words[1] {
			case "build":
				built++
			case "check":
				if out != "apple\n" {
					t.Errorf("%s prints %q, want apple", line, out)
				}
				if err := os.Remove("filter.bf"); err != nil {
					t.Error(err)
				}
			}
		}
	}
	if built < 12 {
		t.Errorf("%d filters were built", built)
	}
}
