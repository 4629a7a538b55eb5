package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/codec"
)

// TestCorrectKinds corrects filters of all kinds by lines that are not in the set, which are taken
// with false positives up to six standard deviations, and by those that are, which are refused.
func TestCorrectKinds(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	write(t, in, []byte(numbered(2000)))
	write(t, out, []byte(numberedText(20_000)))
	for _, k := range codec.Kinds() {
		if k.Features.Get || k.Features.Out { // built from more than keys
			continue
		}
		file := filepath.Join(dir, k.Name)
		for _, c := range []struct {
			code int
			says string
			args []string
		}{
			{exitOK, "", []string{"build", "--kind", k.Name, "-n", "2000", "-p", "1%", "-o", file, in}},
			{exitLimit, "2,000 of 2,000 lines are in the filter, about ", []string{"correct", file, in}},
			{exitOK, "20,000 lines", []string{"correct", file, out}},
			{exitLimit, "of 22,000 lines are in the filter, about ", []string{"correct", file, in, out}},
		} {
			if code, _, errOut := call(t, c.args...); code != c.code || !strings.Contains(errOut, c.says) {
				t.Errorf("%s: %q = %d, %s", k.Name, c.args, code, errOut)
			}
		}
	}
}

// TestCorrectMaps asks that maps keep their values.
func TestCorrectMaps(t *testing.T) {
	dir := t.TempDir()
	in, file := filepath.Join(dir, "in"), filepath.Join(dir, "m.bm")
	write(t, in, []byte("alice\t3\nbob\t4\n"))
	if code, _, errOut := call(t, "build", "--kind", "map", "-o", file, in); code != exitOK {
		t.Fatal(errOut)
	}
	if code, _, errOut := call(t, "correct", file, in); code != exitBad || !strings.Contains(errOut, "a map cannot be corrected") {
		t.Errorf("correct = %d, %s", code, errOut)
	}
	if code, out, errOut := call(t, "get", file, "alice"); code != exitOK || !strings.Contains(out, "3") {
		t.Errorf("get = %d, %s%s", code, out, errOut)
	}
}

// TestMostReported asks where reports are too many to be false positives.
func TestMostReported(t *testing.T) {
	for _, c := range []struct {
		lines uint64
		rate  float64
		want  uint64
	}{
		{0, 0.01, 9}, {9, 0.01, 9}, {1e6, 0, 9}, {30_000, 0.01, 433}, {1e6, 0.01, 11_596}, {100, 1, 110},
	} {
		if got := mostReported(c.lines, c.rate); got != c.want {
			t.Errorf("%d lines at %v: %d, want %d", c.lines, c.rate, got, c.want)
		}
	}
}
