package web

// INFO, read back.

import (
	"strconv"
	"strings"
)

// infoLines are the lines of INFO by name.
type infoLines map[string]string

// info returns sections of INFO.
func (c *call) info(sections ...string) (infoLines, error) {
	reply, err := c.do(append([]string{"INFO"}, sections...)...)
	if err != nil {
		return nil, err
	}
	lines := infoLines{}
	for line := range strings.Lines(reply.Text) {
		if name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":"); ok {
			lines[name] = value
		}
	}
	return lines, nil
}

// whole returns a line that is a whole number, 0 if there is none.
func (l infoLines) whole(name string) int64 {
	n, _ := strconv.ParseInt(l[name], 10, 64)
	return n
}

// yes reports whether a line is 1.
func (l infoLines) yes(name string) bool { return l[name] == "1" }

// part returns a number of a line of several: calls=1,usec=2.
func (l infoLines) part(name, part string) int64 {
	for pair := range strings.SplitSeq(l[name], ",") {
		if key, value, _ := strings.Cut(pair, "="); key == part {
			n, _ := strconv.ParseInt(value, 10, 64)
			return n
		}
	}
	return 0
}
