package server

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/bloomery/bloomery/internal/resp"
	"github.com/bloomery/bloomery/server/internal/command"
)

// maxRest is how much of a command that has not arrived whole is copied, so that
// the connection can give its buffers back while it waits.
const maxRest = 16 << 10

// errQuit ends a connection without a word.
var errQuit = errors.New("server: client left")

// conn is a connection. One goroutine reads, runs and writes: everything that a
// read brought is run and answered by one write.
type conn struct {
	server  *Server
	nc      net.Conn
	session *command.Session
	parser  resp.Parser
	err     error // why the connection ends
	seen    int64 // bytes read

	b    *buffers // nil while idle
	rest []byte   // the beginning of a command, while b is nil
	held int      // bytes counted in the budget

	writing atomic.Int64 // when the present write began, Unix nanoseconds; 0 if none
	killed  atomic.Bool
}

// serve reads and answers until the client leaves.
func (c *conn) serve() {
	defer c.server.drop(c)
	defer c.rescue()
	c.report(c.loop())
}

// rescue keeps a fault in one command from ending the server.
func (c *conn) rescue() {
	if v := recover(); v != nil {
		c.server.log.Error("command failed", "client", c.session.Addr, "error", fmt.Sprint(v), "stack", string(debug.Stack()))
	}
}

func (c *conn) report(err error) {
	if errors.Is(err, errQuit) || errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded) {
		return
	}
	c.server.log.Debug("connection ended", "client", c.session.Addr, "error", err)
}

// space returns where the next read goes, behind what is left of an unfinished
// command. It takes buffers if there are none.
func (c *conn) space() ([]byte, error) {
	if c.b == nil {
		c.b = c.server.buffers.get()
		c.b.in = append(c.b.in, c.rest...)
		c.rest = nil
	}
	if len(c.b.in) == cap(c.b.in) {
		if err := c.grow(); err != nil {
			return nil, err
		}
	}
	return c.b.in[len(c.b.in):cap(c.b.in)], nil
}

// took runs what n more bytes in space have brought.
func (c *conn) took(n int) error {
	c.server.bytesIn.Add(int64(n))
	c.seen += int64(n)
	c.b.in = c.b.in[:len(c.b.in)+n]
	return c.run()
}

// grow doubles the read buffer. Memory follows the bytes that have arrived; large
// buffers count in the budget.
func (c *conn) grow() error {
	size := 2 * cap(c.b.in)
	if wants := c.parser.Wants(); wants > 0 && wants < size {
		size = max(wants, len(c.b.in)+readBytes)
	}
	if size > c.server.config.MaxQuery+readBytes {
		c.complain("ERR Protocol error: query larger than the limit of this server (--max-query)")
		return fmt.Errorf("query of more than %d bytes", c.server.config.MaxQuery)
	}
	budget := &c.server.engine.Budget
	if !budget.Hold(size) {
		budget.Hold(-size)
		c.complain("OOM command not allowed when used memory > 'maxmemory'.")
		return errors.New("no memory for a query")
	}
	in := make([]byte, len(c.b.in), size)
	copy(in, c.b.in)
	budget.Hold(-c.held)
	c.held, c.b.in = size, in
	return nil
}

// complain writes an error, as far as the client takes it at once.
func (c *conn) complain(text string) {
	_ = c.nc.SetWriteDeadline(time.Now().Add(time.Second))
	_, _ = c.nc.Write(resp.AppendError(nil, text))
}

// run takes all whole commands from the buffer, runs them and writes the replies.
func (c *conn) run() error {
	b := c.b
	at := 0
	for at < len(b.in) {
		base := len(b.args)
		args, n, err := c.parser.Next(b.in[at:], b.args)
		b.args = args
		if err != nil {
			if failed := c.exec(); failed != nil {
				return failed
			}
			b.out = resp.AppendError(b.out, "ERR Protocol error: "+err.Error())
			_ = c.write()
			return err
		}
		if n == 0 {
			break
		}
		at += n
		if len(args) > base {
			b.work.Add(args[base:len(args):len(args)])
		}
		if len(b.work.Calls) >= maxCalls {
			if err := c.exec(); err != nil {
				return err
			}
		}
	}
	if err := c.exec(); err != nil {
		return err
	}
	if err := c.write(); err != nil {
		return err
	}
	b.in = b.in[:copy(b.in, b.in[at:])]
	return nil
}

// exec runs the commands found so far and makes their replies.
func (c *conn) exec() error {
	b := c.b
	calls := b.work.Calls
	for done := 0; done < len(calls); {
		n := c.server.engine.Exec(c.session, &b.work, done)
		for i := done; i < done+n; i++ {
			if call := &calls[i]; !call.Mute {
				if err := c.reply(resp.Protocol(call.Proto), &call.Reply); err != nil {
					return err
				}
			}
		}
		done += n
		if c.session.Quit {
			_ = c.write()
			return errQuit
		}
	}
	c.parser.Guest = !c.session.Authenticated && c.server.settings.Password() != ""
	b.work.Reset()
	b.args = b.args[:0]
	return nil
}

// reply makes one reply. Large strings are written piece by piece, without a copy
// of the whole.
func (c *conn) reply(p resp.Protocol, r *command.Reply) error {
	b := c.b
	if r.Kind == command.Array && len(r.Elems) == 2 && len(r.Elems[1].Text) > writeBytes {
		b.out = resp.AppendArray(b.out, 2) // a chunk of a dump
		b.out = appendReply(b.out, p, &r.Elems[0])
		r = &r.Elems[1]
	}
	if r.Kind == command.Bulk && len(r.Text) > writeBytes {
		return c.large(r.Text)
	}
	b.out = appendReply(b.out, p, r)
	if len(b.out) < writeBytes {
		return nil
	}
	return c.write()
}

func (c *conn) large(text string) error {
	b := c.b
	b.out = resp.AppendBulkHead(b.out, len(text))
	for len(text) > 0 {
		n := min(len(text), writeBytes)
		b.out = append(b.out, text[:n]...)
		text = text[n:]
		if err := c.write(); err != nil {
			return err
		}
	}
	b.out = resp.AppendCRLF(b.out)
	return nil
}

// write sends what there is to send.
func (c *conn) write() error {
	b := c.b
	if len(b.out) == 0 {
		return nil
	}
	c.writing.Store(c.session.LastActive())
	n, err := c.nc.Write(b.out)
	c.writing.Store(0)
	c.server.bytesOut.Add(int64(n))
	b.out = b.out[:0]
	if cap(b.out) > maxKeptBytes {
		b.out = make([]byte, 0, writeBytes+4096)
	}
	return err
}

// idle gives buffers back that are not needed while the client sends nothing. A
// short piece of a command is kept on its own.
func (c *conn) idle() {
	if len(c.b.in) > maxRest {
		return
	}
	if len(c.b.in) > 0 {
		c.rest = append([]byte(nil), c.b.in...)
	}
	c.release()
}

// release gives the buffers back.
func (c *conn) release() {
	if c.b != nil {
		c.server.buffers.put(c.b)
		c.b = nil
	}
	if c.held > 0 {
		c.server.engine.Budget.Hold(-c.held)
		c.held = 0
	}
}

// kill closes the connection from another goroutine.
func (c *conn) kill() {
	c.killed.Store(true)
	_ = c.nc.Close()
}
