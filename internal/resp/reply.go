package resp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
)

// ErrReply means that what a server sent is no reply of RESP2.
var ErrReply = errors.New("invalid reply")

// Limits of a reply: a server that is none must not make a client keep much
// before it has sent much.
const (
	maxDepth = 8
	maxBulk  = 512 << 20
)

// Reply is one reply of a server, in RESP2. Type is its first byte: + a status,
// - an error, : an integer, $ a string, * an array. Its memory serves the next
// Read.
//
// A writer needs exclusion.
type Reply struct {
	Type  byte
	Null  bool    // an absent string or array
	Int   int64   // of an integer
	Text  []byte  // of a status, an error or a string
	Array []Reply // of an array
}

// Read reads the next reply from r in place of what p holds. Memory grows with
// what has arrived. Errors wrap ErrReply, or are those of r; io.EOF comes only
// if there is no reply at all.
func (p *Reply) Read(r *bufio.Reader) error { return p.ReadWithin(r, math.MaxInt, math.MaxInt64) }

// ReadWithin is Read for a reply of at most so many replies, with those in arrays, and so
// many bytes of text, all together. It ends with ErrReply when there are more.
func (p *Reply) ReadWithin(r *bufio.Reader, replies int, text int64) error {
	return p.read(r, 0, &room{replies, text})
}

// room is what may come yet of a reply.
type room struct {
	replies int
	text    int64
}

// take takes the room for so many bytes of text.
func (m *room) take(n int) error {
	if m.text -= int64(n); m.text < 0 {
		return fmt.Errorf("%w: more text than it may have", ErrReply)
	}
	return nil
}

func (p *Reply) read(r *bufio.Reader, depth int, m *room) error {
	if m.replies--; m.replies < 0 {
		return fmt.Errorf("%w: more parts than it may have", ErrReply)
	}
	line, err := replyLine(r)
	if err != nil {
		if depth > 0 {
			err = cutReply(err)
		}
		return err
	}
	p.Type, p.Null, p.Int, p.Text, p.Array = line[0], false, 0, p.Text[:0], p.Array[:0]
	line = line[1:]
	if p.Type == '+' || p.Type == '-' {
		p.Text = append(p.Text, line...)
		return m.take(len(line))
	}
	n, err := strconv.ParseInt(string(line), 10, 64)
	if err != nil {
		return fmt.Errorf("%w: %q is no number", ErrReply, line)
	}
	switch {
	case p.Type == ':':
		p.Int = n
		return nil
	case p.Type != '$' && p.Type != '*':
		return fmt.Errorf("%w: type %q", ErrReply, p.Type)
	case n == -1:
		p.Null = true
		return nil
	case n < 0 || n > maxBulk:
		return fmt.Errorf("%w: length %d", ErrReply, n)
	case p.Type == '$':
		if err := m.take(int(n)); err != nil {
			return err
		}
		return p.readText(r, int(n))
	case n > int64(m.replies):
		return fmt.Errorf("%w: %d parts, more than it may have", ErrReply, n)
	}
	return p.readArray(r, int(n), depth, m)
}

// readText reads a string of n bytes and its line end.
func (p *Reply) readText(r *bufio.Reader, n int) error {
	b := bytes.NewBuffer(p.Text)
	if _, err := io.CopyN(b, r, int64(n)+2); err != nil {
		return cutReply(err)
	}
	p.Text = b.Bytes()
	if !bytes.HasSuffix(p.Text, []byte("\r\n")) {
		return fmt.Errorf("%w: no line end behind a string", ErrReply)
	}
	p.Text = p.Text[:n]
	return nil
}

// readArray reads n replies, into those that were there before.
func (p *Reply) readArray(r *bufio.Reader, n, depth int, m *room) error {
	if depth == maxDepth {
		return fmt.Errorf("%w: more than %d arrays in each other", ErrReply, maxDepth)
	}
	for i := range n {
		if i < cap(p.Array) {
			p.Array = p.Array[:i+1]
		} else {
			p.Array = append(p.Array, Reply{})
		}
		if err := p.Array[i].read(r, depth+1, m); err != nil {
			return err
		}
	}
	return nil
}

// replyLine reads a line and takes its end off; it has a byte at least.
func replyLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	switch {
	case errors.Is(err, io.EOF) && len(line) > 0:
		return nil, cutReply(err)
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, fmt.Errorf("%w: a line without end", ErrReply)
	case err != nil:
		return nil, err
	case len(line) < 3 || line[len(line)-2] != '\r':
		return nil, fmt.Errorf("%w: %q", ErrReply, line)
	}
	return line[:len(line)-2], nil
}

// cutReply is the error of a reply that breaks off.
func cutReply(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// AppendCommand appends a command as clients send it.
func AppendCommand(b []byte, args ...string) []byte {
	b = AppendArray(b, len(args))
	for _, a := range args {
		b = AppendBulk(b, a)
	}
	return b
}
