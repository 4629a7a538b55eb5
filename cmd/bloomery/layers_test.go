// Tests of the commands with a file of layers, which programs make.

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/quotient"
)

// TestLayersFile adds lines to layers, looks them up, corrects the file and removes them.
func TestLayersFile(t *testing.T) {
	l, err := compose.NewLayers(nil, bloom.New(1000, 0.1), quotient.New(1000, 0.1))
	if err != nil {
		t.Fatal(err)
	}
	data, err := l.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file, lines := filepath.Join(dir, "layers.bf"), filepath.Join(dir, "lines")
	write(t, file, data)
	write(t, lines, []byte(strings.Repeat("alice\nbob\n", 2)+numbered(500)))
	for _, c := range []struct {
		args []string
		out  string
	}{
		{[]string{"add", file, lines}, ""},
		{[]string{"check", "-c", file, "-f", lines}, "504\n"},
		{[]string{"inspect", file}, "layers (23)"},
		{[]string{"correct", file, filepath.Join(dir, "none")}, ""},
		{[]string{"check", "-c", file, "-f", lines}, "504\n"},
		{[]string{"inspect", file}, "corrected (22)"},
		{[]string{"remove", file, lines}, ""},
	} {
		write(t, filepath.Join(dir, "none"), nil)
		if code, out, errOut := call(t, c.args...); code != 0 || !strings.Contains(out, c.out) {
			t.Errorf("%q = %d, %s%s", c.args, code, out, errOut)
		}
	}
	if code, out, _ := call(t, "check", "-c", file, "-f", lines); code != 1 || out != "0\n" {
		t.Errorf("after remove %s of 504 lines are there", out)
	}
}
