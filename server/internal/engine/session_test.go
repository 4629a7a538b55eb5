package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/store"
)

// TestNamesOfSessions asks which names a client may give itself and its library.
func TestNamesOfSessions(t *testing.T) {
	longest := strings.Repeat("n", 65_536)
	for name, good := range map[string]bool{"": true, "a": true, "!~": true, longest: true, longest + "n": false, "a b": false, "a\n": false, "\x7f": false, "é": false} {
		s := NewSession(1, "", "", time.Time{}, nil)
		if got := s.SetName([]byte(name)); got != good || good && s.Name() != name || !good && s.Name() != "" {
			t.Errorf("SetName(%.10q) = %v, the name is %.10q", name, got, s.Name())
		}
		if got := s.SetLibrary([]byte(name), []byte("1")); got != good || good != (s.library == name && s.libraryVersion == "1") {
			t.Errorf("SetLibrary(%.10q, 1) = %v", name, got)
		}
		if got := s.SetLibrary(nil, []byte(name)); got != good || good && s.libraryVersion != name {
			t.Errorf("SetLibrary(nil, %.10q) = %v", name, got)
		}
		if s.SetLibrary(nil, nil); good && (s.library != name || s.libraryVersion != name) {
			t.Errorf("a library without name and version becomes %.10q of %.10q", s.library, s.libraryVersion)
		}
	}
}

// TestDescriptionOfSessions asks for the line of CLIENT LIST.
func TestDescriptionOfSessions(t *testing.T) {
	began := time.Unix(1000, 0)
	s := NewSession(7, "1.2.3.4:5", "6.7.8.9:10", began, nil)
	now := began.Add(90 * time.Second)
	want := "id=7 addr=1.2.3.4:5 laddr=6.7.8.9:10 fd=0 name= age=90 idle=90 flags=N db=0 sub=0 psub=0 ssub=0 multi=-1 watch=0 " +
		"qbuf=0 qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 omem=0 tot-mem=0 events=r cmd=NULL user=default redir=-1 resp=2 lib-name= lib-ver="
	if got := s.describe(now); got != want {
		t.Errorf("a new session:\n%s, want\n%s", got, want)
	}
	s.SetName([]byte("me"))
	s.SetLibrary([]byte("lib"), []byte("1.0"))
	s.SetProto(3)
	s.lastActive.Store(began.Add(80 * time.Second).UnixNano())
	s.lastCmd.Store(&Command{Name: "list", full: "client|list"})
	s.inMulti.Store(3)
	s.watching.Store(2)
	s.memory.Store(42)
	s.monitor.Store(&Monitor{})
	got := s.describe(now)
	for _, want := range []string{" name=me ", " age=90 idle=10 flags=O ", " multi=2 watch=2 ", " tot-mem=42 ", " cmd=client|list ", " resp=3 lib-name=lib lib-ver=1.0"} {
		if !strings.Contains(got+" ", want) {
			t.Errorf("%s has no %q", got, want)
		}
	}
}

// TestReset asks that a session is as it was at its beginning.
func TestReset(t *testing.T) {
	e := New(Config{State: store.New(), MaxMemory: 1 << 30, Settings: NewSettings(RedisBloomDefaults(), "")})
	s := NewSession(1, "", "", time.Time{}, func() {})
	x := &Context{e, s}
	s.SetProto(3)
	s.SetName([]byte("me"))
	s.SetReplies(false)
	x.Monitor()
	if !x.Begin() || x.Begin() || !x.InTransaction() || !s.Busy() {
		t.Error("a transaction does not begin, or begins twice")
	}
	if text := x.Watch([]byte("key")); text != "" {
		t.Error(text)
	}
	x.Reset()
	if s.Proto != 2 || s.protoSeen.Load() != 2 || s.Name() != "" || s.replies != repliesOn || s.Monitor() != nil || x.InTransaction() || s.Busy() ||
		s.inMulti.Load() != 0 || s.watching.Load() != 0 || s.Memory() != 0 || e.Budget.Clients() != 0 {
		t.Errorf("after a reset: %s, %d bytes held", x.Describe(), e.Budget.Clients())
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

// TestPeers asks what a client may know of another, and do to it.
func TestPeers(t *testing.T) {
	killed := 0
	s := NewSession(3, "a", "b", time.Unix(10, 0), func() { killed++ })
	mine := NewSession(4, "c", "d", time.Unix(20, 0), func() { killed += 10 })
	x := &Context{nil, mine}
	p := Peer{s}
	if p.Me(x) || p.ID() != 3 || p.Addr() != "a" || p.LocalAddr() != "b" || p.Age(time.Unix(15, 0)) != 5*time.Second || p.Describe(time.Unix(15, 0)) != s.describe(time.Unix(15, 0)) {
		t.Errorf("the other is %s", p.Describe(time.Unix(15, 0)))
	}
	if p.Kill(x); killed != 1 || s.Quit || mine.Quit {
		t.Errorf("killed %d, quit %v and %v", killed, s.Quit, mine.Quit)
	}
	if (Peer{mine}).Kill(x); killed != 1 || !mine.Quit {
		t.Errorf("killed %d, quit %v: who kills itself gets its reply first", killed, mine.Quit)
	}
}
