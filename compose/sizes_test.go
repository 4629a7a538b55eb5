package compose_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/cuckoo"
)

// TestChoosingSizes holds the bits per key in docs/choosing.md to filters for a
// million keys, at 1%, 0.1% and 0.01%.
func TestChoosingSizes(t *testing.T) {
	data, err := os.ReadFile("../docs/choosing.md")
	if err != nil {
		t.Fatal(err)
	}
	const n = 1_000_000
	for name, create := range map[string]func(p float64) (bloomery.Hashed, error){
		"compose.NewWindow": func(p float64) (bloomery.Hashed, error) {
			return compose.WindowConfig{Capacity: n, ErrorRate: p}.New()
		},
		"compose.QuorumConfig": func(p float64) (bloomery.Hashed, error) {
			return compose.QuorumConfig{Capacity: n, ErrorRate: p}.New()
		},
		"compose.StripedConfig": func(p float64) (bloomery.Hashed, error) {
			return compose.StripedConfig{Capacity: n, Make: func(n int) (bloomery.Hashed, error) {
				return cuckoo.Config{Capacity: n, ErrorRate: p}.New()
			}}.New()
		},
	} {
		var figures []string
		for _, p := range []float64{1e-2, 1e-3, 1e-4} {
			f, err := create(p)
			if err != nil {
				t.Fatal(err)
			}
			figures = append(figures, fmt.Sprintf("%.1f", float64(f.Stats().Bits)/n))
		}
		want := strings.Join(figures, " / ")
		t.Log(name, want)
		found := false
		for line := range strings.Lines(string(data)) {
			found = found || strings.Contains(line, "`"+name) && strings.Contains(line, "| "+want)
		}
		if !found {
			t.Errorf("docs/choosing.md has no row of %s with %s", name, want)
		}
	}
}
