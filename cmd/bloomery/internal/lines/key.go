// Key, the part of a record that is compared.

package lines

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Key says what of a record is compared. The zero value is the whole record.
type Key struct {
	// Columns are the columns that are compared. A record that has fewer is
	// compared by those that it has.
	Columns Columns
	// Delimiter stands between columns.
	Delimiter string
	// Quoted allows columns in double quotes, as in CSV: what is in them may
	// contain the delimiter, newlines, and quotes, which are doubled. The same
	// column is the same key with quotes and without. Input.Quoted belongs to it.
	Quoted bool
	// Fold compares in lower case.
	Fold bool
	// Raw takes a carriage return at the end of a record as part of it. Set it if
	// Input.Raw or Input.Zero is set.
	Raw bool
}

// Whole reports whether all of a record is compared, byte by byte.
func (k *Key) Whole() bool { return k.Columns.none() && !k.Fold }

// String describes the key: two keys that read some record differently have
// different texts. That of the zero value is empty.
func (k *Key) String() string {
	if k.Whole() && !k.Raw {
		return ""
	}
	text := k.Columns.String() + " " + k.Delimiter
	for _, option := range []struct {
		on   bool
		name string
	}{{k.Quoted, "quoted"}, {k.Fold, "fold"}, {k.Raw, "raw"}} {
		if option.on {
			text += "\x00" + option.name
		}
	}
	return text
}

// Of returns the key of a record as it stands, which is that of Batch.Line: a part of
// the record, or a text in buf, which it returns as well because it may have grown.
func (k *Key) Of(record, buf []byte) (key, grown []byte) {
	if !k.Raw {
		record = withoutCR(record)
	}
	if k.Whole() {
		return record, buf
	}
	return k.of(record, buf[:0])
}

// Keys are the keys of the records of a batch. The zero value is ready for use,
// and its memory is used again.
type Keys struct {
	list [][]byte
	text []byte
}

// Of returns the keys of the records of a batch, in their order. They are valid
// until the next call. A key with names must be the batch's Input.Named.
func (s *Keys) Of(k *Key, b *Batch) [][]byte {
	if k.Whole() {
		return b.Records
	}
	k = b.Located(k)
	s.list, s.text = s.list[:0], s.text[:0]
	for _, r := range b.Records {
		var key []byte
		key, s.text = k.of(r, s.text)
		s.list = append(s.list, key)
	}
	return s.list
}

// Separates reports whether one of the records has the delimiter. Without
// columns there is none to be missed.
func (k *Key) Separates(records [][]byte) bool {
	if k.Columns.none() {
		return true
	}
	for _, r := range records {
		if bytes.Contains(r, []byte(k.Delimiter)) {
			return true
		}
	}
	return false
}

// of returns the key of one of Batch.Records. A key that is not a part of the record is
// appended to arena.
func (k *Key) of(record, arena []byte) (key, grown []byte) {
	from := len(arena)
	key, arena = k.columns(record, arena)
	if k.Fold && !isLower(key) {
		if len(arena) == from { // the key is a part of the record, which stays as it is
			arena = append(arena, key...)
		}
		folded := appendLower(arena[:from], arena[from:])
		return folded[from:], folded
	}
	return key, arena
}

// columns returns the columns of a record that are compared.
func (k *Key) columns(record, arena []byte) (key, grown []byte) {
	switch {
	case k.Columns.none():
		return record, arena
	case len(k.Columns.names) > 1:
		return k.byName(record, arena)
	case k.Quoted:
		return k.quoted(record, arena)
	case len(k.Columns.spans) == 1:
		key, _ := k.cut(record, 1, k.Columns.spans[0])
		return key, arena
	}
	from, column := len(arena), 1
	for _, s := range k.Columns.spans {
		var part []byte
		part, record = k.cut(record, column, s)
		column = s.last + 1
		arena = append(append(arena, part...), k.Delimiter...)
	}
	return arena[from:], arena
}

// cut returns the columns of a span and the text behind them; text begins at
// the given column. Columns that are missing are empty.
func (k *Key) cut(text []byte, column int, s columnSpan) (part, rest []byte) {
	for ; column < s.first; column++ {
		i := bytes.Index(text, []byte(k.Delimiter))
		if i < 0 {
			return nil, nil
		}
		text = text[i+len(k.Delimiter):]
	}
	if s.last == anyColumn {
		return text, nil
	}
	end := 0
	for ; column <= s.last; column++ {
		i := bytes.Index(text[end:], []byte(k.Delimiter))
		if i < 0 {
			return text, nil
		}
		end += i
		if column == s.last {
			break
		}
		end += len(k.Delimiter)
	}
	return text[:end], text[end+len(k.Delimiter):]
}

// isLower reports whether lower case is what a key has already.
func isLower(key []byte) bool {
	for _, c := range key {
		if 'A' <= c && c <= 'Z' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// appendLower appends a text in lower case to dst, which may end where text
// begins. Of bytes that are not UTF-8 only ASCII letters change, so that
// different ones stay different.
func appendLower(dst, text []byte) []byte {
	ascii := true
	for _, c := range text {
		ascii = ascii && c < utf8.RuneSelf
	}
	if !ascii && utf8.Valid(text) {
		return append(dst, strings.ToLower(string(text))...)
	}
	for _, c := range text {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	return dst
}
