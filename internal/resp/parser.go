package resp

import (
	"errors"
	"slices"
)

// The causes why Parser.Next gives up. Their texts are those of Redis, which
// sends them after "ERR Protocol error: " and closes the connection.
var (
	ErrInlineTooBig     = errors.New("too big inline request")
	ErrCountTooBig      = errors.New("too big mbulk count string")
	ErrCount            = errors.New("invalid multibulk length")
	ErrLengthTooBig     = errors.New("too big bulk count string")
	ErrLength           = errors.New("invalid bulk length")
	ErrQuotes           = errors.New("unbalanced quotes in request")
	ErrNoPasswordCount  = errors.New("unauthenticated multibulk length")
	ErrNoPasswordLength = errors.New("unauthenticated bulk length")
)

// ErrRoom means that a command has more arguments than Parser.Room. With more
// Room, Next goes on where it stopped.
var ErrRoom = errors.New("too many arguments")

// DollarError is the error for a byte that stands where an argument should
// begin.
type DollarError struct{ Got byte }

// Error implements error.
func (e *DollarError) Error() string {
	return "expected '$', got '" + string(rune(e.Got)) + "'"
}

// Limits of a request. The first two are Redis's; the last two hold for
// clients that have not given the password yet, so that they cannot make the
// server keep much.
const (
	// maxLine bounds an inline request and the digits of a length.
	maxLine = 64 << 10
	// maxCount bounds the number of arguments: what Redis can count to.
	maxCount = 1<<31 - 1
	// maxGuestCount and maxGuestLength are Redis's limits before AUTH.
	maxGuestCount  = 10
	maxGuestLength = 16 << 10
	// firstArguments is how many places are made for arguments that were only
	// announced; further ones are made as arguments arrive.
	firstArguments = 16
)

// Parser cuts a stream of bytes into commands. It remembers how far it came in
// a command that has not arrived whole, and nothing else of it: a large command
// is read twice at most, however many pieces it comes in. The zero value is ready
// to use.
//
// A writer needs exclusion.
type Parser struct {
	// MaxLength bounds one argument; 0 means 512 MiB, Redis's own limit.
	MaxLength int
	// Guest applies the limits for clients without a password.
	Guest bool
	// Room is how many arguments of one command there is memory for; 0 means
	// that it does not matter. Next returns ErrRoom rather than taking more.
	Room int

	pos     int  // bytes of the present command that were understood
	first   int  // where the arguments of an array begin
	count   int  // how many it has, of which
	missing int  // so many are still to come
	length  int  // length of the argument at pos, -1 if not known yet
	inside  bool // the count of the array was read
}

// Next takes the first command of buf. It returns the arguments appended to
// args, as slices of buf, and the number of bytes that the command takes. If n
// is 0 the command has not arrived whole: call again with the same bytes and
// more behind them. An empty command (a blank line, an empty array) gives n > 0
// and no argument. After an error the stream cannot be understood any more.
func (p *Parser) Next(buf []byte, args [][]byte) (_ [][]byte, n int, err error) {
	if !p.inside {
		if len(buf) == 0 {
			return args, 0, nil
		}
		if buf[0] != '*' {
			return p.inline(buf, args)
		}
		count, next := digit(buf)
		if next == 0 {
			if count, next, err = number(buf, 1, ErrCountTooBig, ErrCount); next == 0 || err != nil {
				return args, 0, err
			}
		}
		if count > maxCount {
			return args, 0, ErrCount
		}
		if count > maxGuestCount && p.Guest {
			return args, 0, ErrNoPasswordCount
		}
		if count <= 0 {
			return args, next, nil
		}
		p.first, p.count, p.inside = next, int(count), true
		p.begin()
		if cap(args) == 0 {
			args = make([][]byte, 0, min(int(count), firstArguments))
		}
	}
	return p.array(buf, args)
}

// digit is number for a line of one digit that is not 0, as almost every first
// line of an array has; next is 0 for all others.
func digit(buf []byte) (v int64, next int) {
	if len(buf) < 4 || buf[1]-'1' > 8 || buf[2] != '\r' || buf[3] != '\n' {
		return 0, 0
	}
	return int64(buf[1] - '0'), 4
}

// begin goes to the first argument of an array.
func (p *Parser) begin() { p.pos, p.missing, p.length = p.first, p.count, -1 }

// array goes on in an array of arguments. A command that arrives whole goes
// straight to args. Of others nothing is kept, since buf may have moved when the
// rest is there: they are read again then.
func (p *Parser) array(buf []byte, args [][]byte) (_ [][]byte, n int, err error) {
	base := len(args)
	if p.missing < p.count || p.Room > 0 && p.count > p.Room {
		if whole, err := p.arrived(buf); !whole {
			return args, 0, err
		}
		p.begin()
		args = slices.Grow(args, p.count)
	}
	if p.length < 0 {
		args = p.short(buf, args)
	}
	for p.missing > 0 {
		from, to, err := p.argument(buf)
		if err != nil || to < 0 {
			return args[:base], 0, err
		}
		args = append(args, buf[from:to:to])
	}
	n = p.pos
	p.pos, p.inside = 0, false
	return args, n, nil
}

// arrived goes on in a command that broke off, and reports whether it is whole
// now.
func (p *Parser) arrived(buf []byte) (bool, error) {
	limit := min(99, p.maxLength())
	for p.missing > 0 {
		if p.Room > 0 && p.count-p.missing >= p.Room {
			return false, ErrRoom
		}
		if p.length < 0 && p.pos+5 < len(buf) {
			if head, length := shortLine(buf[p.pos:]); length <= limit && p.pos+head+length+2 <= len(buf) {
				p.pos, p.missing = p.pos+head+length+2, p.missing-1
				continue
			}
		}
		if _, to, err := p.argument(buf); err != nil || to < 0 {
			return false, err
		}
	}
	return true, nil
}

// short takes arguments of at most 99 bytes, which almost all are, as long as
// they come: it is argument without the checks that they cannot fail.
func (p *Parser) short(buf []byte, args [][]byte) [][]byte {
	pos, missing := p.pos, p.missing
	limit := min(99, p.maxLength())
	for missing > 0 && pos+5 < len(buf) {
		head, length := shortLine(buf[pos:])
		from := pos + head
		end := from + length
		if length > limit || end+2 > len(buf) {
			break
		}
		args = append(args, buf[from:end:end])
		pos = end + 2
		missing--
	}
	p.pos, p.missing = pos, missing
	return args
}

// shortLine reads the line in front of an argument of at most 99 bytes, of a buf of at least 6. It returns the
// length of the line and of the argument, which is above 99 if it is not such a line.
func shortLine(buf []byte) (head, length int) {
	length = int(buf[1] - '0')
	if buf[0] != '$' || length > 9 {
		return 0, 100
	}
	if buf[2] == '\r' && buf[3] == '\n' {
		return 4, length
	}
	low := int(buf[2] - '0')
	if length == 0 || low > 9 || buf[3] != '\r' || buf[4] != '\n' {
		return 0, 100
	}
	return 5, 10*length + low
}

// argument takes the argument at p.pos and returns its place. If it has not
// arrived whole, to is -1.
func (p *Parser) argument(buf []byte) (from, to int, err error) {
	if p.length < 0 {
		if p.pos >= len(buf) {
			return 0, -1, nil
		}
		if buf[p.pos] != '$' {
			return 0, 0, &DollarError{Got: buf[p.pos]}
		}
		length, next, err := number(buf, p.pos+1, ErrLengthTooBig, ErrLength)
		if err != nil {
			return 0, 0, err
		}
		if next == 0 {
			return 0, -1, nil
		}
		if length < 0 || length > int64(p.maxLength()) {
			return 0, 0, ErrLength
		}
		if length > maxGuestLength && p.Guest {
			return 0, 0, ErrNoPasswordLength
		}
		p.pos, p.length = next, int(length)
	}
	from, to = p.pos, p.pos+p.length
	if len(buf) < to+2 {
		return 0, -1, nil
	}
	p.pos, p.length = to+2, -1
	p.missing--
	return from, to, nil
}

// Wants returns how many bytes the present command needs at least to go on,
// counted from its first byte; 0 if that is not known.
func (p *Parser) Wants() int {
	if !p.inside || p.length < 0 {
		return 0
	}
	return p.pos + p.length + 2
}

// Idle reports whether the parser stands between two commands.
func (p *Parser) Idle() bool { return !p.inside }

func (p *Parser) maxLength() int {
	if p.MaxLength > 0 {
		return p.MaxLength
	}
	return 512 << 20
}

// number reads a decimal number and its CRLF at buf[at:]. It returns where the
// line ends; 0 if it has not arrived whole.
func number(buf []byte, at int, long, bad error) (v int64, next int, err error) {
	i := at
	negative := false
	if i < len(buf) && buf[i] == '-' {
		negative = true
		i++
	}
	first := i
	for i < len(buf) {
		d := buf[i] - '0'
		if d > 9 {
			break
		}
		if i-first >= 18 {
			return 0, 0, bad
		}
		v = v*10 + int64(d)
		i++
	}
	if i+1 >= len(buf) {
		if i-at > maxLine {
			return 0, 0, long
		}
		if i < len(buf) && buf[i] != '\r' {
			return 0, 0, bad
		}
		return 0, 0, nil
	}
	if i == first || buf[i] != '\r' || buf[i+1] != '\n' || (i-first > 1 && buf[first] == '0') {
		return 0, 0, bad
	}
	if negative {
		v = -v
	}
	return v, i + 2, nil
}
