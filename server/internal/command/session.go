package command

import (
	"sync"
	"sync/atomic"
	"time"
)

// Session is what the server knows of a client, apart from its connection.
// Fields that other sessions may look at (CLIENT LIST) are behind methods.
type Session struct {
	// ID, Addr and LocalAddr never change.
	ID              int64
	Addr, LocalAddr string
	Created         time.Time
	// Proto is the protocol version of replies, 2 or 3.
	Proto uint8
	// Authenticated tells that the client gave the password, or needs none.
	Authenticated bool
	// Quit tells that the connection ends when what was answered is written.
	Quit bool
	// Local tells that the client is on this machine.
	Local bool

	lastActive atomic.Int64 // Unix nanoseconds
	lastCmd    atomic.Pointer[Command]
	inMulti    atomic.Bool
	protoSeen  atomic.Int32

	mu              sync.Mutex
	name            string
	library         string
	libraryVersion  string
	noEvict         bool
	noTouch         bool
	replies         replyMode
	skipNext        bool
	multi           bool
	multiFailed     bool
	queue           [][][]byte
	queuedBytes     int
	watchedBytes    int
	watches         map[string]watched
	w               *Workspace
	now             time.Time
	ms              int64
	inExec          bool
	wrote           bool // something that must be durable before it is answered
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
	s := &Session{ID: id, Addr: addr, LocalAddr: local, Created: now, Proto: 2, closeConnection: kill}
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

// Busy reports whether the client is inside a transaction or has asked for
// something that ends with its connection.
func (s *Session) Busy() bool { return s.multi || len(s.watches) > 0 }

// Kill closes the connection.
func (s *Session) Kill() { s.closeConnection() }

// reset puts a session back to its beginning, as RESET does.
func (s *Session) reset(authenticated bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setProto(2)
	s.Authenticated = authenticated
	s.name = ""
	s.noEvict, s.noTouch = false, false
	s.replies, s.skipNext = repliesOn, false
}

// setProto sets the protocol of replies.
func (s *Session) setProto(proto uint8) {
	s.Proto = proto
	s.protoSeen.Store(int32(proto))
}
