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

// Server is a server that an example uses.
type Server struct {
	dial func(context.Context) (net.Conn, error)
	stop func() error
}

// Start returns the server at addr, or starts one inside the program if addr is "". That one
// keeps its data in memory.
func Start(ctx context.Context, addr string) (*Server, error) { return StartClock(ctx, addr, nil) }

// StartClock is Start with a clock for the server inside, by which windows turn: an example need
// not wait for a week.
func StartClock(ctx context.Context, addr string, now func() time.Time) (*Server, error) {
	if addr != "" {
		dial := func(ctx context.Context) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", addr)
		}
		return &Server{dial: dial, stop: func() error { return nil }}, nil
	}
	s, err := server.New(ctx, server.Config{Addr: []string{"127.0.0.1:0"}, Now: now})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var ended error
	var serving sync.WaitGroup
	serving.Go(func() { ended = s.Serve(ctx) })
	return &Server{dial: s.Dial, stop: func() error {
		cancel()
		serving.Wait()
		return ended
	}}, nil
}

// Close ends the server if Start has started it. Clients must be closed before.
func (s *Server) Close() error { return s.stop() }

// Client returns a new connection.
func (s *Server) Client(ctx context.Context) (*Client, error) {
	conn, err := s.dial(ctx)
	if err != nil {
		return nil, err
	}
	return &Client{conn: conn, in: bufio.NewReaderSize(conn, 1<<16)}, nil
}

// Reply is a reply of a server. Type is its first byte: + a status, : an integer, $ a string,
// * an array.
type Reply = resp.Reply

// Client sends commands and counts the round trips.
//
// It is for one goroutine at a time.
type Client struct {
	conn  net.Conn
	in    *bufio.Reader
	out   []byte
	trips int
	stop  func() error // ends the server, nil if that is not up to the client
}

// Connect is StartClock and Client in one: closing the client ends the server.
func Connect(ctx context.Context, addr string, now func() time.Time) (*Client, error) {
	s, err := StartClock(ctx, addr, now)
	if err != nil {
		return nil, err
	}
	c, err := s.Client(ctx)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	c.stop = s.stop
	return c, nil
}

// Close closes the connection.
func (c *Client) Close() error {
	err := c.conn.Close()
	if c.stop != nil {
		err = errors.Join(err, c.stop())
	}
	return err
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
