// Text: what may begin a file of lines, and what ends a line.

package lines

import (
	"bytes"
	"io"
	"strings"
)

// byteOrderMark is what some programs put in front of UTF-8.
const byteOrderMark = "\xef\xbb\xbf"

// twoUnits is how many bytes show UTF-16 that has no mark.
const twoUnits = 4

// asText returns what follows in r without a byte order mark of UTF-8, and the length of that mark.
// UTF-16 is an error.
func asText(r io.Reader) (text io.Reader, skipped int, err error) {
	head, err := readHead(r, textUndecided)
	if err != nil {
		return nil, 0, err
	}
	if encoding := utf16(head); encoding != "" {
		return nil, 0, &FormatError{Format: encoding, Command: "iconv -f " + encoding + " -t UTF-8", Text: true}
	}
	if strings.HasPrefix(string(head), byteOrderMark) {
		skipped = len(byteOrderMark)
	}
	return io.MultiReader(bytes.NewReader(head[skipped:]), r), skipped, nil
}

// textUndecided reports whether more bytes could make head a mark, or UTF-16. A whole line waits for
// them only if there is a NUL in it.
func textUndecided(head []byte) bool {
	if strings.HasPrefix(byteOrderMark, string(head)) {
		return len(head) < len(byteOrderMark)
	}
	return len(head) < twoUnits && halves(head) && (bytes.IndexByte(head, '\n') < 0 || bytes.IndexByte(head, 0) >= 0)
}

// utf16 returns the name that iconv has for the encoding of a text, if that is UTF-16: it begins with
// a mark, or every other byte is NUL, as in the letters of English. It is empty for all other texts.
func utf16(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		return "UTF-16"
	case len(head) < twoUnits || !halves(head):
		return ""
	case head[0] == 0:
		return "UTF-16BE"
	}
	return "UTF-16LE"
}

// halves reports whether each pair of bytes has one NUL, at the same place as in the other pairs.
func halves(head []byte) bool {
	for i := range head {
		if i >= 2 && (head[i] == 0) != (head[i-2] == 0) || i%2 == 1 && (head[i] == 0) == (head[i-1] == 0) {
			return false
		}
	}
	return true
}

// withoutCR returns a line without the carriage return in front of its newline.
func withoutCR(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\r' {
		return line[:n-1]
	}
	return line
}

// line returns a record, without the carriage return at its end if it is a line of text.
func (in *Input) line(record []byte) []byte {
	if in.raw() {
		return record
	}
	return withoutCR(record)
}

// raw reports whether records are taken as they are.
func (in *Input) raw() bool { return in.Raw || in.Zero }

// size returns how long a record is with its end: the separator, and the carriage return in front of it
// that is no part of a line.
func (b *Batch) size(record []byte) int {
	n := len(record) + 1
	if b.Data[cap(b.Data)-cap(record)+n-1] == '\r' {
		n++
	}
	return n
}

// Line returns a record as it stands in the file, with the carriage return that is no part of it.
func (b *Batch) Line(i int) []byte {
	at := b.at(i)
	return b.Data[at : at+b.size(b.Records[i])-1]
}

// WithCR returns the records that end with a carriage return, including it, as a batch of their own,
// and their places in b, appended to at. There may be none.
func (b *Batch) WithCR(records [][]byte, at []int) (Batch, []int) {
	with := *b
	with.Records, at = records[:0], at[:0]
	for i, r := range b.Records {
		if line := b.Line(i); len(line) > len(r) {
			with.Records, at = append(with.Records, line), append(at, i)
		}
	}
	return with, at
}
