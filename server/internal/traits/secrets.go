package traits

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

// Secret returns which arguments of a command nobody may see.
type Secret func(args [][]byte) (from, to int)

// Behind returns a Secret that hides all arguments from the one at n on.
func Behind(n int) Secret {
	return func(args [][]byte) (from, to int) { return n, len(args) }
}

// Show returns argument i of a call as logs, SLOWLOG and MONITOR show it: secrets
// and the names of keys are left out, what is long is cut after most bytes.
func Show(args [][]byte, i, most int, keys Keys, secret Secret) string {
	if secret != nil {
		if from, to := secret(args); i >= from && i < to {
			return redacted
		}
	}
	if keys.Has(args, i) {
		return aKey
	}
	a := args[i]
	if len(a) > most {
		return fmt.Sprintf("%s... (%d more bytes)", a[:most], len(a)-most)
	}
	return string(a)
}
