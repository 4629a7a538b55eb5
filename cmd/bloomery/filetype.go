// What a file looks like that is not a filter.

package main

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/cmd/bloomery/internal/lines"
)

// filterMagics are the first bytes of a filter: of its plain form, its transport
// form, a patch and a sealed one.
var filterMagics = []string{"bloomery", "bloompak", patchMagic, "bloomsec"}

// startsLikeFilter reports whether a file with these first bytes is a filter, or
// the beginning of one.
func startsLikeFilter(head []byte) bool {
	for _, magic := range filterMagics {
		if n := min(len(magic), len(head)); n > 0 && string(head[:n]) == magic[:n] {
			return true
		}
	}
	return false
}

// notFilter returns the error for a file that is not a filter.
func notFilter(name string, head []byte) error {
	looks, hint := looksLike(name, head)
	err := notA("bloomery filter", name, looks)
	if hint == "" {
		return err
	}
	return hinted{err, hint}
}

// notA returns the error for a file that is something else than it should be.
func notA(what, name, looks string) error {
	return worded{bloomery.ErrCorrupt, fmt.Sprintf("%s: not a %s: %s", name, what, looks)}
}

// checkMagic refuses a file that does not start like what it should be. A file
// that is shorter is left to its reader, if it starts so.
func checkMagic(name, magic, what string) error {
	head, err := headBytes(name)
	if err != nil {
		return err
	}
	if n := min(len(magic), len(head)); n > 0 && string(head[:n]) == magic[:n] {
		return nil
	}
	looks, _ := looksLike(name, head)
	return notA(what, name, looks)
}

// The first bytes of a patch, and of a state of dedupe.
const (
	patchMagic = "bloomdif"
	stateMagic = "BLMSEEN"
)

// tarMagic stands at tarOffset of a tar file.
const (
	tarMagic  = "ustar"
	tarOffset = 257
)

// fileTypes are files by their first bytes.
var fileTypes = []struct{ magic, is, hint string }{
	{"REDIS0", "a Redis RDB file", "docs/migrating-from-redisbloom.md describes how filters move from Redis to a server"},
	{"\x07\x81\x30\x16\xe5\xa2\x89", "what DUMP answers of a BF or CF", "give it to a server with RESTORE, or open it with package foreign/redisbloom"},
	{"PAR1", "a Parquet file", ""},
	{"SQLite format 3\x00", "an SQLite database", ""},
	{"\x7fELF", "a program", ""},
	{"%PDF-", "a PDF document", ""},
	{"\x89PNG\r\n", "a PNG picture", ""},
	{stateMagic, "the state of bloomery dedupe", "it belongs to bloomery dedupe --state"},
	{"blmr", "a file of a server's data folder", "look at the folder with: bloomery doctor DIR"},
}

// looksLike says what a file looks like by its first bytes, and what to do with
// it.
func looksLike(name string, head []byte) (looks, hint string) {
	if len(head) == 0 {
		return "the file is empty", ""
	}
	if format, command := lines.Compression(head); format != "" {
		return "it looks like a file compressed by " + format, fmt.Sprintf("if a filter is in it: %s %s | bloomery check - VALUE", command, name)
	}
	if len(head) >= len(filterMagics[0]) && startsLikeFilter(head) {
		return "it looks like a bloomery filter", ""
	}
	for _, t := range fileTypes {
		if strings.HasPrefix(string(head), t.magic) {
			return "it looks like " + t.is, t.hint
		}
	}
	if len(head) > tarOffset && bytes.HasPrefix(head[tarOffset:], []byte(tarMagic)) {
		return "it looks like a tar file", ""
	}
	if isText(head) {
		return "it looks like text", "make a filter of its lines with: bloomery build -o F " + name
	}
	return fmt.Sprintf("it starts with %q", head[:min(len(head), 8)]), "filters of other systems are read by bloomery inspect, check, add, merge and convert, and by no other command: see docs/formats.md"
}

// isText reports whether bytes are the beginning of a text in UTF-8.
func isText(head []byte) bool {
	for len(head) > 0 {
		r, n := utf8.DecodeRune(head)
		switch {
		case r == utf8.RuneError && n == 1:
			return !utf8.FullRune(head) // cut off in the middle
		case unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t' && r != '\f':
			return false
		}
		head = head[n:]
	}
	return true
}
