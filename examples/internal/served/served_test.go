package served

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server"
)

func TestClient(t *testing.T) {
	c, err := Connect(t.Context(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	replies, err := c.Pipe([]string{"BF.MADD", "users", "alice", "bob"}, []string{"BF.EXISTS", "users", "carol"})
	if err != nil || len(replies) != 2 || len(replies[0].Array) != 2 || replies[0].Array[1].Int != 1 || replies[1].Int != 0 {
		t.Errorf("replies %+v, %v", replies, err)
	}
	if _, err := c.Do("BF.ADD", "users"); err == nil || !strings.Contains(err.Error(), "wrong number of arguments") {
		t.Errorf("error %v, want that of the server", err)
	}
	if r, err := c.Do("PING"); err != nil || string(r.Text) != "PONG" {
		t.Errorf("PING after an error: %+v, %v", r, err)
	}
	if c.Trips() != 3 {
		t.Errorf("%d round trips, want 3", c.Trips())
	}
	if r, err := c.Do("FILTER.WHERE", "*", "bob"); err != nil || !slices.Equal(Strings(r.Array[1]), []string{"users"}) {
		t.Errorf("filters that have bob: %+v, %v", r, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if _, err := c.Do("PING"); err == nil {
		t.Error("a client that is closed answers")
	}
}

// At an address the server is another's: it goes on when the client is closed.
func TestElsewhere(t *testing.T) {
	s, err := server.New(t.Context(), server.Config{Addr: []string{"127.0.0.1:0"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.Serve(ctx) }()
	for range 2 {
		c, err := Connect(ctx, s.Addr().String(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if r, err := c.Do("PING"); err != nil || string(r.Text) != "PONG" {
			t.Errorf("PING: %+v, %v", r, err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := Connect(t.Context(), "127.0.0.1:1", nil); err == nil {
		t.Error("a server that is not there takes a client")
	}
}
