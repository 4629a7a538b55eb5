package served

import (
	"strings"
	"testing"
)

func TestServer(t *testing.T) {
	s, err := Start(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Client(t.Context())
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
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := s.Client(t.Context()); err == nil {
		t.Error("a server that has ended takes a client")
	}

	elsewhere, err := Start(t.Context(), "127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := elsewhere.Client(t.Context()); err == nil {
		t.Error("a server that is not there takes a client")
	}
}
