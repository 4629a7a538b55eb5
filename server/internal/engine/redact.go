package engine

import "fmt"

// redacted stands for what nobody may see.
const redacted = "(redacted)"

// Show returns argument i of a call as logs show it: a secret is left out, a long
// one is cut after most bytes. A nil command, one that does not exist, shows its
// name only: what follows may be anything, a mistyped AUTH too.
func (c *Command) Show(args [][]byte, i, most int) string {
	if c == nil && i > 0 {
		return redacted
	}
	if c != nil && c.Secret != nil {
		if from, to := c.Secret(args); i >= from && i < to {
			return redacted
		}
	}
	a := args[i]
	if len(a) > most {
		return fmt.Sprintf("%s... (%d more bytes)", a[:most], len(a)-most)
	}
	return string(a)
}

// Behind returns a Secret that hides all arguments from the one at n on.
func Behind(n int) func([][]byte) (from, to int) {
	return func(args [][]byte) (from, to int) { return n, len(args) }
}
