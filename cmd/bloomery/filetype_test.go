// Tests of files that are not filters, and of terminals as output.

package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
)

func TestNotFilter(t *testing.T) {
	for head, want := range map[string]string{
		"":                                     "the file is empty",
		"alice\nbob\n":                         "it looks like text",
		"grüße\n":                              "it looks like text",
		"gr\xc3":                               "it looks like text", // cut off in a character
		"{\"a\": 1}":                           "it looks like text",
		"gr\xff\xff":                           `it starts with "gr\xff\xff"`,
		"\x00\x01\x02":                         `it starts with "\x00\x01\x02"`,
		"\x1f\x8b\x08\x00":                     "it looks like a file compressed by gzip",
		"\xfd7zXZ\x00":                         "it looks like a file compressed by xz",
		"REDIS0011\xfa\x09":                    "it looks like a Redis RDB file",
		"PAR1\x15\x04":                         "it looks like a Parquet file",
		"\x07\x81\x30\x16\xe5\xa2\x89\xbe\x04": "it looks like what DUMP answers of a BF or CF",
		"SQLite format 3\x00\x10":              "it looks like an SQLite database",
		"BLMSEEN\x02":                          "it looks like the state of bloomery dedupe",
		"blmr\x01\x00":                         "it looks like a file of a server's data folder",
		strings.Repeat("\x00", 257) + "ustar":  "it looks like a tar file",
	} {
		err := notFilter("f", []byte(head))
		if got := err.Error(); got != "f: not a bloomery filter: "+want || !errors.Is(err, bloomery.ErrCorrupt) || exitCode(err) != exitBad {
			t.Errorf("%q: %q, want %q", head, got, want)
		}
		if startsLikeFilter([]byte(head)) {
			t.Errorf("%q is taken for a filter", head)
		}
	}
	for _, head := range []string{"b", "bloomery\x01", "bloompak", "bloomdif", "bloomsec"} {
		if !startsLikeFilter([]byte(head)) {
			t.Errorf("%q is not taken for a filter", head)
		}
	}
}

// TestTerminalOutput refuses to write a filter to a terminal.
func TestTerminalOutput(t *testing.T) {
	s, _ := fakeShell("out")
	if err := s.checkOutput("-", false); err == nil || !strings.Contains(err.Error(), "is a terminal") || hintOf(err) == "" {
		t.Errorf("a filter for the terminal: %v", err)
	}
	s, _ = fakeShell()
	if err := s.checkOutput("-", false); err != nil {
		t.Errorf("a filter for a pipe: %v", err)
	}
}
