// What a terminal can show: its width, and whether it has more than ASCII.

package main

import (
	"strconv"
	"strings"
)

// ascii reports whether the environment asks for nothing but ASCII: a locale
// such as C, POSIX or de_DE.ISO-8859-1. Without any locale, UTF-8 is assumed.
func (s *shell) ascii() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		locale, _ := s.lookup(name)
		if locale == "" {
			continue
		}
		if _, charset, ok := strings.Cut(locale, "."); ok {
			charset, _, _ = strings.Cut(strings.ToLower(charset), "@")
			return charset != "utf-8" && charset != "utf8"
		}
		return locale == "C" || locale == "POSIX"
	}
	return false
}

// shown returns a text of this program as the terminal can show it.
func (s *shell) shown(text string) string {
	if !s.ascii() {
		return text
	}
	return asciiOnly.Replace(text)
}

// asciiOnly replaces the characters that pictures are made of.
var asciiOnly = strings.NewReplacer(
	"┤", "|", "┼", "+", "─", "-", "│", "|", "╭", ".", "╮", ".", "╯", "'", "╰", "'", "╶", "-", "╴", "-",
	"▁", ".", "▂", ":", "▃", "-", "▄", "=", "▅", "+", "▆", "*", "▇", "%", "█", "#",
	"±", "+/-", "…", "...",
)

// leastWidth is the narrowest text that is made to fit.
const leastWidth = 40

// textWidth returns how many characters a line of standard output should have at
// most: the width of the terminal, or else that of COLUMNS.
func (s *shell) textWidth() int {
	width := s.width(s.out)
	if columns, ok := s.lookup("COLUMNS"); ok && !s.terminal(s.out) {
		if n, err := strconv.Atoi(columns); err == nil && n > 0 {
			width = n
		}
	}
	return max(width, leastWidth)
}

// wrapped breaks a text into lines of at most width characters. All but the
// first begin with the indent. Words that are longer stay whole. A line does not
// break at a no-break space, which becomes a space.
func wrapped(text string, width int, indent string) string {
	var b strings.Builder
	column := 0
	for i, word := range strings.Split(text, " ") {
		length := len([]rune(word))
		switch {
		case i == 0:
		case column+1+length > width:
			b.WriteString("\n" + indent)
			column = len([]rune(indent))
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += length
	}
	return strings.ReplaceAll(b.String(), noBreak, " ")
}

// noBreak is a space where a line must not end.
const noBreak = "\u00a0"
