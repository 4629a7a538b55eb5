// Tests that files have the false positive rate that was asked for.

package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
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

// A window takes all lines in one generation, which has a capacity of its own.
func TestWindowIsFull(t *testing.T) {
	dir := t.TempDir()
	f, few, many := filepath.Join(dir, "f"), filepath.Join(dir, "few"), filepath.Join(dir, "many")
	write(t, few, []byte(numbered(1000)))
	write(t, many, []byte(numbered(2000)))
	if code, _, errOut := call(t, "build", "--kind", "window", "-n", "1000", "-o", f, many); code != exitLimit {
		t.Errorf("twice the lines: exit code %d, want %d: %s", code, exitLimit, errOut)
	}
	if code, _, errOut := call(t, "build", "--kind", "window", "-n", "1000", "-o", f, few); code != 0 {
		t.Fatal(errOut)
	}
	if code, _, errOut := call(t, "add", f, many); code != exitLimit {
		t.Errorf("twice the lines in the end: exit code %d, want %d: %s", code, exitLimit, errOut)
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
