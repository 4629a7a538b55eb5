package metrics

// Labels of filters, bounded.

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// other is the label of all filters that have none of their own.
const other = "_other"

// longestLabel is how long a label is before it is cut; a name can have 512 MiB.
const longestLabel = 128

// label returns the value of a label for the name of a filter. No two names that
// filters have at one time have the same: a backslash is doubled, bytes that are not
// UTF-8 are written as \xNN, a filter that is called _other is \_other, and of a long
// name the beginning is shown with the id of the filter: \#42.
func label(name string, id uint64) string {
	if name == other {
		return `\` + other
	}
	if len(name) <= longestLabel && utf8.ValidString(name) && !strings.Contains(name, `\`) {
		return name
	}
	var b strings.Builder
	for i := 0; i < len(name); {
		if b.Len() >= longestLabel {
			b.WriteString(`\#` + strconv.FormatUint(id, 10))
			break
		}
		r, n := utf8.DecodeRuneInString(name[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			const digits = "0123456789abcdef"
			b.WriteString(`\x`)
			b.WriteByte(digits[name[i]>>4])
			b.WriteByte(digits[name[i]&15])
		case r == '\\':
			b.WriteString(`\\`)
		default:
			b.WriteString(name[i : i+n])
		}
		i += n
	}
	return b.String()
}

// valid returns a text with what is not UTF-8 replaced.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
