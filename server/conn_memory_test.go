package server

import (
	"testing"
	"time"

	"github.com/bloomery/bloomery/internal/resp"
	"github.com/bloomery/bloomery/server/internal/engine"
)

// TestUnreadRepliesCount asks that buffers of clients that read nothing count, up to
// the limit for all of them together.
func TestUnreadRepliesCount(t *testing.T) {
	s := newServer(t, Config{MaxMemory: 64 << 20}) // of which an eighth is less than 16 MiB
	c := &conn{server: s, session: engine.NewSession(1, "", "", time.Now(), func() {})}
	check := func(when string, want int64) {
		t.Helper()
		if held, unread := s.engine.Budget.Clients(), s.unread.Load(); held != want || unread != want {
			t.Errorf("%s: %d bytes are held, %d count as unread, want %d", when, held, unread, want)
		}
	}
	if !s.waitsForReader(c, minUnread) {
		t.Error("as much as the limit is refused")
	}
	check("at the limit", minUnread)
	if s.waitsForReader(c, 1) {
		t.Error("a byte more than the limit is allowed")
	}
	check("after the refusal", minUnread)
	s.readerWentOn(c, minUnread)
	check("at the end", 0)
}

// TestRoomForArgumentsCounts asks that room for arguments counts before they are there.
func TestRoomForArgumentsCounts(t *testing.T) {
	s := newServer(t, Config{MaxMemory: 64 << 20})
	c := &conn{server: s, session: engine.NewSession(1, "", "", time.Now(), func() {}), parser: resp.Parser{Room: maxArgs}}
	for _, want := range []int64{maxArgs * argumentBytes, 3 * maxArgs * argumentBytes} {
		if err := c.moreRoom(); err != nil {
			t.Fatal(err)
		}
		if got := s.engine.Budget.Clients(); got != want {
			t.Errorf("room for %d arguments: %d bytes count, want %d", c.parser.Room, got, want)
		}
	}
	c.release()
	if got := s.engine.Budget.Clients(); got != 0 {
		t.Errorf("at the end %d bytes count", got)
	}
}
