package acl

// Rules such as +get and ~key*, and what is wrong with one.

import (
	"fmt"
	"strings"
)

// What Redis says of rules that are wrong, and what we say of those that it takes or
// does not have.
const (
	textUnknown  = "Unknown command or category name in ACL"
	textSyntax   = "Syntax error"
	textKeys     = "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any effect. Try 'resetkeys' to start with an empty list of patterns"
	textChannels = "Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any effect. Try 'resetchannels' to start with an empty list of channels"
	textPassword = "The password you are trying to remove from the user does not exist"
	textHash     = "The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters"
	textThird    = "Allowing first-arg of a subcommand is not supported"
	textArgument = "Rules on the first argument of a command are not supported"
	textMany     = "A user takes at most 4096 passwords, patterns of a kind in a selector, and selectors"
	textAddRate  = "addrate must be a whole number of items a second from 0 to 1000000000, 0 for no limit"
)

// RuleError reports a rule that is wrong. Its text never shows a password.
type RuleError struct {
	Rule string // as far as it may be shown
	Text string
}

// Error implements error.
func (e *RuleError) Error() string {
	return fmt.Sprintf("Error in ACL SETUSER modifier '%s': %s", e.Rule, e.Text)
}

// ParenthesisError reports a selector without its end.
type ParenthesisError struct{ Rule string }

// Error implements error.
func (e *ParenthesisError) Error() string {
	return fmt.Sprintf("Unmatched parenthesis in acl selector starting at '%s'.", e.Rule)
}

// NameError reports a name that no user can have.
type NameError string

// Error implements error.
func (e NameError) Error() string { return string(e) }

// shown returns what may be shown of a rule: passwords and their hashes may not.
func shown(rule string) string {
	if rule != "" && strings.IndexByte("><#!", rule[0]) >= 0 {
		return rule[:1] + "(redacted)"
	}
	const most = 128
	return rule[:min(len(rule), most)]
}

// space reports whether a byte ends a word of a file of users.
func space(r rune) bool { return strings.ContainsRune(" \t\n\v\f\r", r) }

// oneWord reports whether a name or a pattern can be a word of a file of users.
func oneWord(s string) bool { return !strings.ContainsAny(s, " \t\n\v\f\r\x00") }

// CheckName returns what is wrong with the name of a user.
func CheckName(name string) error {
	switch {
	case name == "":
		return NameError("Usernames can't be empty")
	case !oneWord(name):
		return NameError("Usernames can't contain spaces or null characters")
	}
	return nil
}

// Most is how many rules SETUSER takes at a time, and how many passwords, selectors, and
// patterns in a selector, a user has: whoever logs in waits while rules are put in
// force, and whoever sends a command while its keys are looked for.
const Most = 4096

// mostBytes is how long the rules may be that SETUSER takes at a time: patterns take
// much more memory than their text.
const mostBytes = 1 << 20

// SizeError reports that there are too many rules to put in force at a time.
type SizeError struct{}

// Error implements error.
func (SizeError) Error() string {
	return "more than 4096 rules, or 1 MiB of them: send them in several commands"
}

// CheckSize returns an error if words have too many rules for one command, those within
// selectors included.
func CheckSize(words []string) error {
	rules, size := len(words), 0
	for _, word := range words {
		if size += len(word); size > mostBytes {
			return SizeError{}
		}
		for i := range len(word) {
			if space(rune(word[i])) {
				rules++
			}
		}
	}
	if rules > Most {
		return SizeError{}
	}
	return nil
}

// join puts the words of a selector, from the one that begins with ( to the one that
// ends with ), together.
func join(words []string) ([]string, error) {
	var rules []string
	open := -1
	for i, word := range words {
		if open < 0 && strings.HasPrefix(word, "(") {
			open = i
		}
		switch {
		case open < 0:
			rules = append(rules, word)
		case strings.HasSuffix(word, ")"):
			rules = append(rules, strings.Join(words[open:i+1], " "))
			open = -1
		}
	}
	if open >= 0 {
		return nil, &ParenthesisError{shown(words[open])}
	}
	return rules, nil
}
