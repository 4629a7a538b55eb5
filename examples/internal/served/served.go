// Package served gives examples a server, inside the program or elsewhere, and a client. Real
// programs take a Redis client of their language; its pipelines are Pipe here.
package served

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/bloomery/bloomery/internal/resp"
	"github.com/bloomery/bloomery/server"
)

// Reply is a reply of a server. Type is its first byte: + a status, : an integer, $ a string,
// * an array.
type Reply = resp.Reply

// Strings returns the strings of an array.
func Strings(array Reply) (texts []string) {
	for _, text := range array.Array {
		texts = append(texts, string(text.Text))
	}
	return texts
}

// Client sends commands and counts the round trips.
//
// It is for one goroutine at a time.
type Client struct {
	conn  net.Conn
	in    *bufio.Reader
	out   []byte
	trips int
	stop  func() error // ends the server if Connect has started it
}

// Connect returns a client of the server at addr, or of one that it starts inside the program if
// addr is "". That one keeps its data in memory and ends with the client. Its windows turn by the clock
// now, so that an example need not wait for a week; nil stands for that of the machine.
func Connect(ctx context.Context, addr string, now func() time.Time) (*Client, error) {
	if addr != "" {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err != nil {
			return nil, err
		}
		return newClient(conn, func() error { return nil }), nil
	}
	s, err := server.New(ctx, server.Config{Addr: []string{"127.0.0.1:0"}, Now: now})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var ended error
	var serving sync.WaitGroup
	serving.Go(func() { ended = s.Serve(ctx) })
	stop := func() error {
		cancel()
		serving.Wait()
		return ended
	}
	conn, err := s.Dial(ctx)
	if err != nil {
		return nil, errors.Join(err, stop())
	}
	return newClient(conn, stop), nil
}

func newClient(conn net.Conn, stop func() error) *Client {
	return &Client{conn: conn, in: bufio.NewReaderSize(conn, 1<<16), stop: stop}
}

// Close closes the connection.
func (c *Client) Close() error {
	err := c.conn.Close()
	return errors.Join(err, c.stop())
}

// Trips returns how many round trips there were.
func (c *Client) Trips() int { return c.trips }

// Do sends a command and returns its reply, which the caller may keep.
func (c *Client) Do(args ...string) (Reply, error) {
	replies, err := c.Pipe(args)
	if err != nil {
		return Reply{}, err
	}
	return replies[0], nil
}

// Pipe sends commands in one go and returns their replies. An error among them is the error.
// Pipes of many thousand commands may block: the server sends replies that nobody reads yet.
func (c *Client) Pipe(commands ...[]string) ([]Reply, error) {
	c.trips++
	c.out = c.out[:0]
	for _, args := range commands {
		c.out = resp.AppendArray(c.out, len(args))
		for _, a := range args {
			c.out = resp.AppendBulk(c.out, a)
		}
	}
	if _, err := c.conn.Write(c.out); err != nil {
		return nil, err
	}
	replies := make([]Reply, len(commands))
	var failed error
	for i := range replies {
		if err := replies[i].Read(c.in); err != nil {
			return nil, err
		}
		if replies[i].Type == '-' {
			failed = errors.Join(failed, fmt.Errorf("%s: %s", commands[i][0], replies[i].Text))
		}
	}
	return replies, failed
}
