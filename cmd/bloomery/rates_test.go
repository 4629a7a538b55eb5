// Tests that files have the false positive rate that was asked for.

package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/compose"
)

// A filter that holds as many lines as it was made for has the rate that was asked
// for, also of the kinds that are less simple than bloom: up to three standard deviations of the estimate, which are
// below 20% for 2,000 keys.
func TestBuildKeepsTheRate(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "lines")
	write(t, in, []byte(numbered(2000)))
	for _, kind := range []string{"bloom", "scalable", "stable", "window", "quorum"} {
		var built struct{ Stats bloomery.Stats }
		code, out, errOut := call(t, "build", "--json", "--kind", kind, "-n", "2000", "-p", "1%", "-o", filepath.Join(dir, kind), in)
		if code != 0 || json.Unmarshal([]byte(out), &built) != nil {
			t.Errorf("%s: %d, %s%s", kind, code, out, errOut)
		}
		if p := built.Stats.Predicted; p > 0.012 {
			t.Errorf("%s: false positive rate %v, asked for 0.01", kind, p)
		}
	}
}

// A window of a program is made for some of its keys in a generation: add refuses more,
// though they are not more than its capacity.
func TestGenerationIsFull(t *testing.T) {
	dir := t.TempDir()
	f, in := filepath.Join(dir, "f"), filepath.Join(dir, "lines")
	write(t, in, []byte(numbered(1000)))
	data, err := compose.NewWindow(1000, 0.01, 6).MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	write(t, f, data)
	if code, _, errOut := call(t, "add", f, in); code != exitLimit {
		t.Errorf("exit code %d, want %d: %s", code, exitLimit, errOut)
	}
}

// The rates of bench are those that were asked for, in figures that people read.
func TestBenchRates(t *testing.T) {
	code, out, errOut := call(t, "bench", "--kind", "window,fuse32", "-n", "2000", "--time", "1us")
	if code != 0 || strings.Contains(out, "e-") || !strings.Contains(out, "1 in 4.29 billion") {
		t.Errorf("exit code %d, %s%s", code, out, errOut)
	}
	var window benchJSON
	code, out, errOut = call(t, "bench", "--json", "--kind", "window", "-n", "2000", "--time", "1us")
	if code != 0 || json.Unmarshal([]byte(out), &window) != nil || window.Predicted > 0.012 {
		t.Errorf("exit code %d, %s%s", code, out, errOut)
	}
}
