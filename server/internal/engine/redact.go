package engine

// What stands for secrets in logs.

import "fmt"

// What stands for a secret, and for the name of a key: it may be that of a person.
const (
	redacted = "(redacted)"
	aKey     = "(key)"
)

// Redacted returns what is shown of a secret: whether there is one.
func Redacted(secret string) string {
	if secret == "" {
		return ""
	}
	return redacted
}

// Show returns argument i of a call as logs, SLOWLOG and MONITOR show it: secrets
// and the names of keys are left out, what is long is cut after most bytes. A nil
// command, one that does not exist, shows its name only: what follows may be
// anything, a mistyped AUTH too.
func (c *Command) Show(args [][]byte, i, most int) string {
	if c == nil && i > 0 {
		return redacted
	}
	if c != nil && c.Secret != nil {
		if from, to := c.Secret(args); i >= from && i < to {
			return redacted
		}
	}
	if c != nil && c.hasKeyAt(args, i) {
		return aKey
	}
	a := args[i]
	if len(a) > most {
		return fmt.Sprintf("%s... (%d more bytes)", a[:most], len(a)-most)
	}
	return string(a)
}

// hasKeyAt reports whether argument i is the name of a key.
func (c *Command) hasKeyAt(args [][]byte, i int) bool {
	for j := range c.Keys {
		if first, last, step := c.Keys[j].span(args); i >= first && i <= last && (i-first)%step == 0 {
			return true
		}
	}
	return false
}

// Behind returns a Secret that hides all arguments from the one at n on.
func Behind(n int) func([][]byte) (from, to int) {
	return func(args [][]byte) (from, to int) { return n, len(args) }
}
