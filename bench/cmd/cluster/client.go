package main

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/bloomery/bloomery/internal/resp"
)

// client is a connection to a node.
type client struct {
	nc    net.Conn
	r     *bufio.Reader
	out   []byte
	reply resp.Reply
}

func dial(addr string) (*client, error) {
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &client{nc: nc, r: bufio.NewReaderSize(nc, 64<<10)}, nil
}

func (c *client) close() { _ = c.nc.Close() }

// send sends what was appended to out.
func (c *client) send() error {
	_, err := c.nc.Write(c.out)
	c.out = c.out[:0]
	return err
}

// receive reads a reply, which holds until the next. One that is an error, or has
// one among its elements, is returned as such.
func (c *client) receive() (*resp.Reply, error) {
	if err := c.reply.Read(c.r); err != nil {
		return nil, err
	}
	if c.reply.Type == '-' {
		return nil, fmt.Errorf("a node answered %q", c.reply.Text)
	}
	for i := range c.reply.Array {
		if e := &c.reply.Array[i]; e.Type == '-' {
			return nil, fmt.Errorf("a node answered %q", e.Text)
		}
	}
	return &c.reply, nil
}

// do runs a command.
func (c *client) do(args ...string) (*resp.Reply, error) {
	c.out = resp.AppendCommand(c.out, args...)
	if err := c.send(); err != nil {
		return nil, err
	}
	return c.receive()
}

// run runs commands whose arguments have no blanks, and passes over their replies.
func (c *client) run(lines ...string) error {
	for _, line := range lines {
		if _, err := c.do(strings.Fields(line)...); err != nil {
			return fmt.Errorf("%s: %w", line, err)
		}
	}
	return nil
}

// at runs commands on a connection of their own.
func at(addr string, lines ...string) error {
	c, err := dial(addr)
	if err != nil {
		return err
	}
	defer c.close()
	return c.run(lines...)
}

// awaitAnswer returns when a server answers a command with anything but an error. A
// server that is not ready answers LOADING, or there is nobody to connect to.
func awaitAnswer(addr string, patience time.Duration, args ...string) error {
	var last error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		c, err := dial(addr)
		if last = err; err != nil {
			continue
		}
		_ = c.nc.SetDeadline(end)
		_, last = c.do(args...)
		c.close()
		if last == nil {
			return nil
		}
	}
	return fmt.Errorf("%s does not serve within %v: %w", addr, patience, last)
}

// numberBytes is how long the items are that stand for numbers.
const numberBytes = 12

// appendNumber appends an item that stands for a number.
func appendNumber(b []byte, n uint64) []byte {
	b = append(b, "$12\r\n000000000000\r\n"...)
	for i := len(b) - 3; n > 0; i-- {
		b[i] = byte('0' + n%10)
		n /= 10
	}
	return b
}

// missing returns how many of some numbers a filter lacks, by a command that takes
// many items and answers each with a 1 or a 0.
func (c *client) missing(command, filter string, numbers []uint64) (lacks int, err error) {
	const batch = 1000
	for len(numbers) > 0 {
		some := numbers[:min(batch, len(numbers))]
		numbers = numbers[len(some):]
		c.out = appendHead(c.out, command, filter, len(some))
		for _, n := range some {
			c.out = appendNumber(c.out, n)
		}
		if err := c.send(); err != nil {
			return 0, err
		}
		reply, err := c.receive()
		if err != nil {
			return 0, err
		}
		if len(reply.Array) != len(some) {
			return 0, fmt.Errorf("%s of %d items: %d answers", command, len(some), len(reply.Array))
		}
		for _, answer := range reply.Array {
			if answer.Int != 1 {
				lacks++
			}
		}
	}
	return lacks, nil
}

// appendHead begins a command on a filter with so many items.
func appendHead(b []byte, command, filter string, items int) []byte {
	b = resp.AppendArray(b, 2+items)
	b = resp.AppendBulk(b, command)
	return resp.AppendBulk(b, filter)
}
