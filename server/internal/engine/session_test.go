package engine

import (
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/store"
)

// TestReset asks that a session is as it was at its beginning.
func TestReset(t *testing.T) {
	e := New(Config{State: store.New(), MaxMemory: 1 << 30})
	s := NewSession(1, "", "", time.Time{}, func() {})
	x := &Context{e: e, s: s}
	s.SetProto(3)
	s.SetName([]byte("me"))
	s.SetReplies(false)
	x.Server().Monitor()
	if text := x.Transaction().Watch([]byte("key")); text != "" {
		t.Error(text)
	}
	if !x.Transaction().Begin() || x.Transaction().Begin() || !s.multi || !s.Busy() {
		t.Error("a transaction does not begin, or begins twice")
	}
	x.Reset()
	if s.Proto != 2 || s.Name() != "" || !s.Wants() || s.Monitor() != nil || s.multi || s.Busy() ||
		s.InMulti.Load() != 0 || s.Watches.Load() != 0 || s.Memory() != 0 || e.Budget.Clients() != 0 {
		t.Errorf("after a reset: %s, %d bytes held", x.Server().Describe(), e.Budget.Clients())
	}
}

// TestRepliesOnAndOff asks which replies a client gets after CLIENT REPLY.
func TestRepliesOnAndOff(t *testing.T) {
	s := NewSession(1, "", "", time.Time{}, nil)
	ping, reply := &Command{full: "ping"}, &Command{full: "client|reply"}
	mute := func(cmd *Command) bool {
		c := Call{cmd: cmd}
		s.note(&c)
		if c.Proto != s.Proto {
			t.Errorf("the reply is in protocol %d, want %d", c.Proto, s.Proto)
		}
		return c.Mute
	}
	if mute(ping) {
		t.Error("replies are off at the beginning")
	}
	if s.SkipReply(); !mute(reply) || !mute(ping) || mute(ping) {
		t.Error("CLIENT REPLY SKIP does not skip itself and the next one")
	}
	if s.SkipReply(); !mute(nil) || mute(ping) {
		t.Error("CLIENT REPLY SKIP does not skip a command that does not exist")
	}
	if s.SetReplies(false); !mute(ping) || !mute(nil) {
		t.Error("CLIENT REPLY OFF does not last")
	}
	s.SkipReply() // means nothing while replies are off
	if s.SetReplies(true); mute(reply) || mute(ping) {
		t.Error("CLIENT REPLY ON does not end it")
	}
	s.SetReplies(false)
	if s.alone = true; mute(ping) {
		t.Error("a reply inside a transaction is left out")
	}
}
