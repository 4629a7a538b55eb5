package engine

// Session: what the server knows of a client.

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Session is what the server knows of a client, apart from its connection. Make
// it with NewSession.
//
// It belongs to the goroutine that runs its commands; what other sessions may
// look at (CLIENT LIST) is behind methods.
type Session struct {
	// ID, Addr, LocalAddr and Created never change.
	ID              int64
	Addr, LocalAddr string
	Created         time.Time
	// Proto is the protocol version of replies, 2 or 3.
	Proto uint8
	// Authenticated reports that the client has logged in, or needed no password when
	// it came.
	Authenticated bool
	// Quit reports that the connection ends when what was answered is written.
	Quit bool
	// Local reports that the client is on this machine.
	Local bool
	// Gone, if it is not nil, reports whether the client has left while a command of it
	// runs. The goroutine that runs its commands calls it.
	Gone func() bool
	// Watching reports that it is the server's own page that asks: its commands are no
	// traffic.
	Watching bool

	lastActive atomic.Int64 // Unix nanoseconds
	lastCmd    atomic.Pointer[Command]
	inMulti    atomic.Int32 // commands queued, plus one
	watching   atomic.Int32
	protoSeen  atomic.Int32
	memory     atomic.Int64 // bytes held for this client
	monitor    atomic.Pointer[Monitor]
	who        atomic.Pointer[account]       // the user; nil before the first command
	wake       atomic.Pointer[chan struct{}] // ends a wait for the end of a pause
	ended      atomic.Bool                   // nobody takes its replies

	mu             sync.Mutex // name, library and libraryVersion
	name           string
	library        string
	libraryVersion string

	replies  replyMode
	skipNext bool

	multi       bool
	multiFailed bool
	queuedWrite bool // a command of the queue writes
	queue       [][][]byte
	queuedBytes int
	queuedWords int
	watches     map[string]watched
	watchBytes  int
	replyBytes  int // held for replies that are not written yet

	ctx    Context
	w      *Workspace
	now    time.Time
	ms     int64
	slot   int   // of the gate
	inside bool  // the gate
	weight int   // of what was run inside since entering
	alone  bool  // the gate is closed for all others
	wrote  bool  // something that must be durable before it is answered
	owner  bool  // reads see what any machine has acknowledged
	stale  error // they cannot, for the calls that are run

	running *Command // the last command that was begun and is not on the items of one filter or sketch

	group  *group              // the transaction that is prepared as one message
	staged map[string]*Staging // what has no name yet, by the name that it will have

	filter uint64 // the filter of the group that is run, 0 if it is not on one
	touch  uint32 // groups until the next one is noted for who is busiest

	closeConnection func()
}

// replyMode is set by CLIENT REPLY.
type replyMode uint8

const (
	repliesOn replyMode = iota
	repliesOff
)

// NewSession returns the session of a new client. kill closes its connection
// and may be called from any goroutine.
func NewSession(id int64, addr, local string, now time.Time, kill func()) *Session {
	s := &Session{
		ID: id, Addr: addr, LocalAddr: local, Created: now, Proto: 2, closeConnection: kill, slot: int(uint64(id) % gateSlots),
	}
	s.lastActive.Store(now.UnixNano())
	s.protoSeen.Store(2)
	return s
}

// LastActive returns when the client last sent something, in Unix nanoseconds.
func (s *Session) LastActive() int64 { return s.lastActive.Load() }

// Idle returns for how long the client has sent nothing.
func (s *Session) Idle(now time.Time) time.Duration {
	return now.Sub(time.Unix(0, s.LastActive()))
}

// Memory returns how many bytes the server holds for the client.
func (s *Session) Memory() int64 { return s.memory.Load() }

// Busy reports whether the client is inside a transaction or has asked for
// something that ends with its connection.
func (s *Session) Busy() bool { return s.multi || len(s.watches) > 0 }

// Kill closes the connection. It does not wait.
func (s *Session) Kill() { s.closeConnection() }

// maxName bounds what a client may have noted about itself.
const maxName = 64 << 10

// printable reports whether CLIENT LIST can show a name.
func printable(name []byte) bool {
	if len(name) > maxName {
		return false
	}
	for _, c := range name {
		if c < '!' || c > '~' {
			return false
		}
	}
	return true
}

// Name returns what CLIENT SETNAME has set.
func (s *Session) Name() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.name
}

// SetName names a session. It reports false if the name has bytes that would
// spoil CLIENT LIST, or too many.
func (s *Session) SetName(name []byte) bool {
	if !printable(name) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.name = string(name)
	return true
}

// SetLibrary notes name and version of the client library; nil leaves one as it
// is. It reports false as SetName does.
func (s *Session) SetLibrary(name, version []byte) bool {
	if !printable(name) || !printable(version) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if name != nil {
		s.library = string(name)
	}
	if version != nil {
		s.libraryVersion = string(version)
	}
	return true
}

// SetProto sets the protocol of replies.
func (s *Session) SetProto(proto uint8) {
	s.Proto = proto
	s.protoSeen.Store(int32(proto))
}

// SetReplies turns replies on or off.
func (s *Session) SetReplies(on bool) {
	s.replies = repliesOff
	if on {
		s.replies, s.skipNext = repliesOn, false
	}
}

// SkipReply leaves out the reply to the next command.
func (s *Session) SkipReply() { s.skipNext = s.replies == repliesOn }

// reset puts a session back to its beginning, as RESET does.
func (s *Session) reset() {
	s.SetProto(2)
	s.SetReplies(true)
	s.owner = false
	s.mu.Lock()
	defer s.mu.Unlock()
	s.name = ""
}

// describe is the line of CLIENT LIST for a session.
func (s *Session) describe(now time.Time) string {
	cmd, flags, queued := "NULL", "N", int(s.inMulti.Load())-1
	if s.monitor.Load() != nil {
		flags = "O"
	}
	if c := s.lastCmd.Load(); c != nil {
		cmd = c.full
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("id=%d addr=%s laddr=%s fd=0 name=%s age=%d idle=%d flags=%s db=0 sub=0 psub=0 ssub=0 multi=%d watch=%d "+
		"qbuf=0 qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 omem=0 tot-mem=%d events=r cmd=%s user=%s redir=-1 "+
		"resp=%d lib-name=%s lib-ver=%s",
		s.ID, s.Addr, s.LocalAddr, s.name, int(now.Sub(s.Created).Seconds()), int(s.Idle(now).Seconds()), flags, queued, s.watching.Load(),
		s.Memory(), cmd, s.User(), s.protoSeen.Load(), s.library, s.libraryVersion)
}
