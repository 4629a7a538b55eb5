package uitest

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/bloomery/bloomery/server"
)

// site is a server whose page is used, and a client of it.
type site struct {
	t    *testing.T
	base string
	conn net.Conn
	in   *bufio.Reader
	stop func() // ends the server
}

// serve starts a server, in memory unless the configuration says otherwise.
func serve(t *testing.T, c server.Config) *site {
	t.Helper()
	c.Addr, c.HTTP, c.ProtectedMode = []string{"127.0.0.1:0"}, []string{"127.0.0.1:0"}, true
	s, err := server.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve() = %v", err)
		}
	})
	t.Cleanup(stop)
	conn, err := s.Dial(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &site{t, "http://" + s.HTTPAddr().String(), conn, bufio.NewReader(conn), stop}
}

// send sends a command over RESP and returns the reply, flat.
func (s *site) send(args ...string) []string {
	s.t.Helper()
	return s.sendAll([][]string{args})[0]
}

// sendAll sends commands in one write. An error is the end of the test.
func (s *site) sendAll(commands [][]string) [][]string {
	s.t.Helper()
	var b strings.Builder
	for _, args := range commands {
		fmt.Fprintf(&b, "*%d\r\n", len(args))
		for _, a := range args {
			fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
		}
	}
	go func() { _, _ = s.conn.Write([]byte(b.String())) }()
	replies := make([][]string, len(commands))
	for i := range commands {
		reply, err := s.read()
		if err != nil {
			s.t.Fatalf("%q: %v", commands[i][:min(4, len(commands[i]))], err)
		}
		replies[i] = reply
	}
	return replies
}

// read reads a reply.
func (s *site) read() (words []string, err error) {
	line, err := s.in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	line = strings.TrimRight(line, "\r\n")
	switch line[0] {
	case '-':
		return nil, fmt.Errorf("%s", line)
	case '$':
		n, _ := strconv.Atoi(line[1:])
		if n < 0 {
			return []string{""}, nil
		}
		data := make([]byte, n+2)
		for at := 0; at < len(data); {
			m, err := s.in.Read(data[at:])
			if err != nil {
				return nil, err
			}
			at += m
		}
		return []string{string(data[:n])}, nil
	case '*':
		n, _ := strconv.Atoi(line[1:])
		for range n {
			part, err := s.read()
			if err != nil {
				return nil, err
			}
			words = append(words, part...)
		}
		return words, nil
	}
	return []string{line[1:]}, nil
}

// addMany adds n items to a filter.
func (s *site) addMany(command, key string, n int) {
	s.t.Helper()
	const each = 500
	for from := 0; from < n; from += each {
		args := []string{command, key}
		for i := from; i < min(from+each, n); i++ {
			args = append(args, key+":item:"+strconv.Itoa(i))
		}
		s.send(args...)
	}
}

// filled makes a filter that has n items when it is first looked at: a verdict that
// changes needs half a minute, the first is there at once.
func (s *site) filled(n int, key string, create ...string) {
	s.t.Helper()
	s.send(append([]string{"FILTER.CREATE", "filling"}, create...)...)
	s.addMany("FILTER.ADD", "filling", n)
	s.send("COPY", "filling", key)
	s.send("DEL", "filling")
}
