package server

import (
	"runtime"
	"sync/atomic"
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

// TestOthersRunWhileABufferGrows has another goroutine count on the only processor while a long command is copied to a larger
// buffer: one that cannot be stopped there keeps the collector waiting, and all clients with it.
func TestOthersRunWhileABufferGrows(t *testing.T) {
	const long = 32 << 20
	s := newServer(t, Config{MaxMemory: 1 << 30})
	c := &conn{server: s, session: engine.NewSession(1, "", "", time.Now(), func() {}), parser: resp.Parser{Room: maxArgs}}
	c.b = &buffers{in: make([]byte, long)}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var turns atomic.Int64
	var stop atomic.Bool
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for ; !stop.Load(); runtime.Gosched() {
			turns.Add(1)
		}
	}()
	runtime.Gosched()
	before := turns.Load()
	err := c.grow()
	got := turns.Load() - before
	stop.Store(true)
	<-stopped
	if err != nil || len(c.b.in) != long || cap(c.b.in) <= long || got < 16 {
		t.Errorf("others had %d turns while %d bytes were copied to %d: %v", got, len(c.b.in), cap(c.b.in), err)
	}
	c.release()
}
