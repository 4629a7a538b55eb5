// Command embedded carries servers inside: a web service that counts each visitor
// once, with the filter in its own process, and a second server beside it that other
// programs can reach on a port.
//
//	go run ./examples/embedded
//
// Nothing has to be installed or configured, and tests of such a program need no
// server of their own: each has a fresh one, on a free port or on none at all.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/bloomery/bloomery/server"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "embedded:", err)
		os.Exit(1)
	}
}

// run starts both servers and the service, sends some visitors, and ends all of them.
func run(ctx context.Context, out io.Writer) error {
	var serving sync.WaitGroup
	defer serving.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 2)
	// Without a folder they keep their data in memory. Port 0 takes a free port.
	var servers [2]*server.Server
	for i := range servers {
		s, err := server.New(ctx, server.Config{Addr: []string{"127.0.0.1:0"}})
		if err != nil {
			return err
		}
		servers[i] = s
		serving.Go(func() { ended <- s.Serve(ctx) })
	}

	v, err := newVisitors(ctx, servers[0])
	if err != nil {
		return err
	}
	defer v.close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	service := &http.Server{Handler: v.mux(), ReadHeaderTimeout: time.Second}
	serving.Go(func() { _ = service.Serve(l) })
	defer func() { _ = service.Close() }()
	for _, name := range []string{"alice", "bob", "alice"} {
		answer, err := get(ctx, "http://"+l.Addr().String()+"/visit?name="+name)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s %s\n", name, answer)
	}
	list, err := get(ctx, "http://"+l.Addr().String()+"/filters/api/v1/filters")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "its API lists the filter: %t\n", strings.Contains(list, `"name":"visitors"`))

	// The other one is for clients in other processes, and has data of its own.
	other, err := net.Dial("tcp", servers[1].Addr().String())
	if err != nil {
		return err
	}
	defer func() { _ = other.Close() }()
	reply, err := (&client{nc: other, r: bufio.NewReader(other)}).do("BF.EXISTS", "visitors", "alice")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "the other server answers %s\n", reply)

	stop() // both servers answer what they were sent, and end
	return errors.Join(<-ended, <-ended)
}

// visitors answers whether somebody comes for the first time.
type visitors struct {
	server *server.Server
	client *client
}

func newVisitors(ctx context.Context, s *server.Server) (*visitors, error) {
	// A connection within the process. A Redis client takes it too: with
	// go-redis it is the Dialer of redis.Options.
	nc, err := s.Dial(ctx)
	if err != nil {
		return nil, err
	}
	return &visitors{s, &client{nc: nc, r: bufio.NewReader(nc)}}, nil
}

func (v *visitors) close() { _ = v.client.nc.Close() }

// mux is the service.
func (v *visitors) mux() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /visit", v.visit)
	// The server's API, metrics and page, at a place of the program's choice.
	mux.Handle("/filters/", http.StripPrefix("/filters", v.server.Handler()))
	return mux
}

func (v *visitors) visit(w http.ResponseWriter, r *http.Request) {
	reply, err := v.client.do("BF.ADD", "visitors", r.FormValue("name"))
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	case reply == ":1":
		_, _ = io.WriteString(w, "is new here")
	default:
		_, _ = io.WriteString(w, "was here before")
	}
}

// client sends commands over one connection, one at a time.
type client struct {
	mu sync.Mutex
	nc net.Conn
	r  *bufio.Reader
}

// do returns a reply of one line.
func (c *client) do(args ...string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	if _, err := io.WriteString(c.nc, b.String()); err != nil {
		return "", err
	}
	line, err := c.r.ReadString('\n')
	if err != nil {
		return "", err
	}
	if line = strings.TrimSpace(line); strings.HasPrefix(line, "-") {
		return "", errors.New(line[1:])
	}
	return line, nil
}

// get returns the body of a page.
func get(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", url, response.Status, body)
	}
	return string(body), err
}
