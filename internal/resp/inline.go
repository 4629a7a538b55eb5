package resp

import "bytes"

// inline takes a command that is a line of words, as typed into telnet.
func (p *Parser) inline(buf []byte, args [][]byte) (_ [][]byte, n int, err error) {
	end := bytes.IndexByte(buf, '\n')
	if end < 0 {
		if len(buf) > maxLine {
			return args, 0, ErrInlineTooBig
		}
		return args, 0, nil
	}
	if end > maxLine {
		return args, 0, ErrInlineTooBig
	}
	line := bytes.TrimSuffix(buf[:end], []byte{'\r'})
	args, ok := words(line, args)
	if !ok {
		return args, 0, ErrQuotes
	}
	return args, end + 1, nil
}

// words splits a line at blanks. "Double quotes" know \xHH, \n, \r, \t, \b, \a
// and take any other escaped byte as it is; 'single quotes' know \' only. A
// closing quote must end the word. Words without quotes are slices of line.
func words(line []byte, args [][]byte) (_ [][]byte, ok bool) {
	base := len(args)
	for {
		line = bytes.TrimLeft(line, " \t\v\f\r\n\x00")
		if len(line) == 0 {
			return args, true
		}
		word, rest, ok := word(line)
		if !ok {
			return args[:base], false
		}
		args = append(args, word)
		line = rest
	}
}

// word takes the first word of a line that does not begin with a blank.
func word(line []byte) (word, rest []byte, ok bool) {
	plain := bytes.IndexAny(line, " \t\v\f\r\n\x00\"'")
	if plain < 0 {
		return line, nil, true
	}
	if c := line[plain]; c != '"' && c != '\'' {
		return line[:plain:plain], line[plain:], true
	}
	word = append(word, line[:plain]...)
	quote := line[plain]
	for i := plain + 1; i < len(line); i++ {
		c := line[i]
		switch {
		case c == quote:
			rest = line[i+1:]
			return word, rest, len(rest) == 0 || blank(rest[0])
		case c != '\\' || i+1 == len(line):
			word = append(word, c)
		case quote == '\'':
			if line[i+1] == '\'' {
				i++
			}
			word = append(word, line[i])
		default:
			i++
			if line[i] == 'x' && i+2 < len(line) && hex(line[i+1]) >= 0 && hex(line[i+2]) >= 0 {
				word = append(word, byte(hex(line[i+1])<<4|hex(line[i+2])))
				i += 2
				continue
			}
			word = append(word, unescape(line[i]))
		}
	}
	return nil, nil, false
}

func unescape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'b':
		return '\b'
	case 'a':
		return '\a'
	}
	return c
}

func blank(c byte) bool {
	return c == ' ' || c >= '\t' && c <= '\r' || c == 0
}

func hex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
