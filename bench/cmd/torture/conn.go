//go:build linux

package main

// A connection of a client.

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/bloomery/bloomery/internal/resp"
)

// conn is a connection to a node.
type conn struct {
	node *node
	nc   net.Conn
	r    *bufio.Reader
}

// connect connects to a node. first are commands that have to be answered with OK.
func connect(ctx context.Context, n *node, first ...string) (*conn, error) {
	nc, err := n.dial(ctx)
	if err != nil {
		return nil, err
	}
	c := &conn{n, nc, bufio.NewReader(nc)}
	for _, command := range first {
		reply, err := c.ask(5*time.Second, command)
		if err == nil && reply != "+OK" {
			err = fmt.Errorf("%s: %s: %s", n.name, command, reply)
		}
		if err != nil {
			c.close()
			return nil, err
		}
	}
	return c, nil
}

func (c *conn) close() { _ = c.nc.Close() }

// open reports whether the server has not closed the connection: clients look before
// they send, so that nothing is lost to one that has ended in good order.
func (c *conn) open() bool {
	_ = c.nc.SetReadDeadline(time.Now().Add(time.Millisecond))
	_, err := c.r.Peek(1)
	return errors.Is(err, os.ErrDeadlineExceeded)
}

// ask sends one command.
func (c *conn) ask(within time.Duration, command string) (string, error) {
	replies, err := c.talk(within, []string{command})
	if err != nil {
		return "", err
	}
	return replies[0], nil
}

// talk sends commands, words with spaces between them, all at once. It returns as many
// replies as there are, also beside an error.
func (c *conn) talk(within time.Duration, commands []string) (replies []string, err error) {
	_ = c.nc.SetDeadline(time.Now().Add(within))
	var b []byte
	for _, command := range commands {
		b = resp.AppendCommand(b, strings.Fields(command)...)
	}
	if _, err := c.nc.Write(b); err != nil {
		return nil, err
	}
	var reply resp.Reply
	for range commands {
		if err := reply.Read(c.r); err != nil {
			return replies, err
		}
		replies = append(replies, show(&reply))
	}
	return replies, nil
}

// show writes a reply as a line: its type, then its value.
func show(r *resp.Reply) string {
	switch {
	case r.Null:
		return "nil"
	case r.Type == ':':
		return fmt.Sprintf(":%d", r.Int)
	case r.Type == '*':
		parts := make([]string, len(r.Array))
		for i := range r.Array {
			parts[i] = show(&r.Array[i])
		}
		return "*" + strings.Join(parts, " ")
	}
	return string(r.Type) + string(r.Text)
}

// outcome is what became of a command.
type outcome int

const (
	acknowledged outcome = iota
	refused              // nothing was changed
	unknown              // it may be done or not
	strange              // a reply that nobody may get
)

// judge says what a reply means.
func judge(reply string) outcome {
	switch {
	case strings.HasPrefix(reply, "-CLUSTERDOWN "), strings.HasPrefix(reply, "-LOADING "):
		return refused
	case strings.HasPrefix(reply, "-UNKNOWN "):
		return unknown
	case strings.HasPrefix(reply, "-"):
		return strange
	}
	return acknowledged
}
