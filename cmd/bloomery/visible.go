// Texts of others in messages: names of files, values.

package main

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// visible returns a text in which nothing can command a terminal: characters that
// are not printed, and bytes that are no characters, are written as Go writes them,
// \x1b. Lines and tabs stay.
func visible(s string) string {
	shown := func(r rune) bool { return unicode.IsPrint(r) || r == '\n' || r == '\t' }
	if utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !shown(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 || !shown(r) {
			quoted := strconv.Quote(s[:n])
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

// visibleArgs makes the arguments of a format visible.
func visibleArgs(args []any) []any {
	for i, a := range args {
		switch a := a.(type) {
		case string:
			args[i] = visible(a)
		case error:
			args[i] = visible(a.Error())
		}
	}
	return args
}
