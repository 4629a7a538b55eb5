// How load sends many commands at once and counts their replies.

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"github.com/bloomery/bloomery/cmd/bloomery/internal/lines"
	"github.com/bloomery/bloomery/internal/resp"
)

const (
	// commandBytes is about how long a command may be, whatever the number of
	// its lines.
	commandBytes = 256 << 10
	// onTheirWay is how many commands may wait for their answers.
	onTheirWay = 64
	// replyBuffer is how much of the answers is read at once.
	replyBuffer = 64 << 10
)

// errServer means that the connection failed, or what came over it.
var errServer = errors.New("the connection broke")

func serverError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: the server closed it", errServer)
	}
	if e, ok := errors.AsType[*net.OpError](err); ok {
		err = e.Err
	}
	if e, ok := errors.AsType[*os.SyscallError](err); ok {
		err = e.Err
	}
	return fmt.Errorf("%w: %s", errServer, err) // not wrapped: a closed pipe here is not that of the output
}

// loader puts lines into a filter of a server.
//
//	workers: encode ─► send ─► connection ─► server
//	                    │ pending               │
//	                    └──────► receive ◄──────┘
type loader struct {
	nc      net.Conn
	r       *bufio.Reader
	key     string
	command string    // that adds lines
	columns lines.Key // what of a line is sent
	batch   int
	pending chan sent
	say     func(format string, args ...any)

	name string // of the file that is sent
	line uint64 // of it that was sent last
	sent uint64 // lines in all

	separated bool // a line has the delimiter of the columns

	answered uint64 // lines with an answer
	added    uint64
	refused  uint64 // lines
	shown    uint64 // messages about them
	hidden   uint64 // lines that no message names
	full     bool
	ill      string // what is wrong with the filter afterwards
}

// sent is a command whose answer has not come.
type sent struct {
	name string
	line uint64 // number of its first line
	n    int    // lines
}

// encoded is a batch as it is sent.
type encoded struct {
	data     []byte
	commands []span

	keys      lines.Keys
	separated bool
}

// span is a command: how many lines it has, and where it ends in the data.
type span struct{ lines, end int }

func newLoader(s *shell, nc net.Conn, key string, batch int) *loader {
	return &loader{
		nc: nc, r: bufio.NewReaderSize(nc, replyBuffer), key: key, batch: batch,
		pending: make(chan sent, onTheirWay), say: s.say,
	}
}

// encode writes the commands for a batch.
func (l *loader) encode(b *lines.Batch, e *encoded) error {
	e.data, e.commands = e.data[:0], e.commands[:0]
	e.separated = l.columns.Separates(b.Records)
	for records := e.keys.Of(&l.columns, b); len(records) > 0; {
		n, size := 0, 0
		for n < len(records) && n < l.batch && (n == 0 || size+len(records[n]) <= commandBytes) {
			size += len(records[n])
			n++
		}
		e.data = resp.AppendArray(e.data, n+2)
		e.data = resp.AppendBulk(e.data, l.command)
		e.data = resp.AppendBulk(e.data, l.key)
		for _, r := range records[:n] {
			e.data = resp.AppendBulkHead(e.data, len(r))
			e.data = resp.AppendCRLF(append(e.data, r...))
		}
		e.commands = append(e.commands, span{n, len(e.data)})
		records = records[n:]
	}
	return nil
}

// send sends the commands of a batch, when few enough are on their way.
func (l *loader) send(ctx context.Context, b *lines.Batch, e *encoded) error {
	l.separated = l.separated || e.separated
	if b.First {
		l.name, l.line = b.Name, b.Headers()
	}
	written, end := 0, 0
	for _, c := range e.commands {
		next := sent{l.name, l.line + 1, c.lines}
		select {
		case l.pending <- next:
		default:
			// Room comes with answers, and those only to what was written.
			if err := l.write(e.data[written:end]); err != nil {
				return err
			}
			written = end
			select {
			case l.pending <- next:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		l.line += uint64(c.lines)
		l.sent += uint64(c.lines)
		end = c.end
	}
	return l.write(e.data[written:])
}

func (l *loader) write(data []byte) error {
	if _, err := l.nc.Write(data); err != nil {
		return serverError(err)
	}
	return nil
}

// receive reads an answer for each command that was sent.
func (l *loader) receive() error {
	var reply resp.Reply
	for c := range l.pending {
		if err := reply.Read(l.r); err != nil {
			return serverError(err)
		}
		switch {
		case reply.Type == '-':
			l.refuse(c, 0, c.n, reply.Text)
		case reply.Type != '*' || reply.Null || len(reply.Array) > c.n:
			return fmt.Errorf("%w: not an answer to %s", errServer, l.command)
		default:
			l.answers(c, reply.Array)
		}
		l.answered += uint64(c.n)
	}
	return nil
}

// answers takes the answers for the lines of a command. Behind an error BF.MADD
// did not try; FILTER.ADD did.
func (l *loader) answers(c sent, replies []resp.Reply) {
	for i := range replies {
		switch r := &replies[i]; {
		case r.Type == '-' && l.command == addToFilter:
			l.refuse(c, i, 1, r.Text)
		case r.Type == '-':
			l.refuse(c, i, c.n-i, r.Text)
			return
		case r.Type == ':' && r.Int == 1:
			l.added++
		}
	}
	if len(replies) < c.n {
		l.refuse(c, len(replies), c.n-len(replies), []byte("no answer"))
	}
}

// refuse notes that lines of a command were not added, from the i-th on.
func (l *loader) refuse(c sent, i, n int, reason []byte) {
	l.full = l.full || strings.Contains(string(reason), "full")
	if l.shown < shownErrors {
		l.shown++
		name := c.name
		if name == "-" {
			name = "standard input"
		}
		text := fmt.Sprintf("%s:%d", name, c.line+uint64(i))
		if n > 1 {
			text += fmt.Sprintf(" and the next %s", grouped(uint64(n-1)))
		}
		l.say("%s: the server replied: %s", text, reason)
	} else {
		l.hidden += uint64(n)
	}
	l.refused += uint64(n)
}

// loadJSON is what load prints with --json.
type loadJSON struct {
	Key     string `json:"key"`
	Lines   uint64 `json:"lines"`
	Added   uint64 `json:"added"`
	Refused uint64 `json:"refused"`
}

// report prints what was done; lines that were refused are an error.
func (l *loader) report(s *shell) error {
	if l.hidden > 0 {
		s.say("%s not listed", plural(l.hidden, "more refused line"))
	}
	if s.asJSON {
		if err := s.print(loadJSON{l.key, l.sent, l.added, l.refused}); err != nil {
			return err
		}
	} else {
		s.say("%s: %s, %s new, %s present before or false positives, %s refused", l.key, plural(l.sent, "line"), grouped(l.added),
			grouped(l.sent-l.added-l.refused), grouped(l.refused))
	}
	if l.ill != "" {
		s.warn("%s: %s", l.key, l.ill)
	}
	switch {
	case l.refused == 0:
		return nil
	case l.full:
		return fmt.Errorf("%w: the filter is full, %s refused", errLimit, plural(l.refused, "line"))
	}
	return fmt.Errorf("%s refused", plural(l.refused, "line"))
}
