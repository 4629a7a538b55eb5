package report

import (
	"bytes"
	"fmt"
	"os"
)

// end is the mark behind a part of a document that a program writes.
const end = "<!-- end of generated -->\n"

// Replace puts text into the named document, between the mark of the command that
// makes it and the end of that part:
//
//	<!-- generated: make bench-lookups -->
//	<!-- end of generated -->
func Replace(name, command, text string) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	begin := "<!-- generated: " + command + " -->\n"
	before, rest, ok := bytes.Cut(data, []byte(begin))
	_, after, found := bytes.Cut(rest, []byte(end))
	if !ok || !found {
		return fmt.Errorf("%s has no marks of %s", name, command)
	}
	out := append(append([]byte{}, before...), begin+text+end...)
	return os.WriteFile(name, append(out, after...), 0o644)
}
