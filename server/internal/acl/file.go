package acl

// The file of users, line by line.

import (
	"errors"
	"fmt"
	"strings"
)

// FileError reports a line of a file of users that is wrong. Its text never shows a
// password.
type FileError struct {
	File string
	Line int
	Text string
}

// Error implements error.
func (e *FileError) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Text) }

// Parse reads a file of users: lines such as ACL LIST shows, and empty ones. The error
// is a *FileError, which names the first line that is wrong.
func Parse(c *Commands, file string, data []byte) ([]*User, error) {
	var users []*User
	seen := map[string]bool{}
	number := 0
	for line := range strings.Lines(string(data)) {
		number++
		words := strings.FieldsFunc(line, space)
		if len(words) == 0 {
			continue
		}
		u, text := parseLine(c, words)
		if text == "" && seen[u.name] {
			text = fmt.Sprintf("Duplicate user '%s' found", u.name)
		}
		if text != "" {
			return nil, &FileError{file, number, text}
		}
		seen[u.name] = true
		users = append(users, u)
	}
	return users, nil
}

func parseLine(c *Commands, words []string) (u *User, text string) {
	if words[0] != "user" || len(words) < 2 {
		return nil, "should start with user keyword followed by the username"
	}
	if CheckName(words[1]) != nil {
		return nil, "the username contains invalid characters"
	}
	u, err := NewUser(c, words[1]).With(c, words[2:]...)
	if err == nil {
		return u, ""
	}
	// A word that is no rule may be a password without its >: it is not shown.
	rule, ok := errors.AsType[*RuleError](err)
	switch {
	case !ok:
		return nil, "Unmatched parenthesis in selector definition"
	case rule.Rule[0] == '+' || rule.Rule[0] == '-':
		return nil, rule.Text + ": '" + rule.Rule + "'"
	}
	return nil, rule.Text
}

// Format returns a file of users.
func Format(users []*User) []byte {
	var b strings.Builder
	for _, u := range users {
		b.WriteString(u.String())
		b.WriteByte('\n')
	}
	return []byte(b.String())
}
