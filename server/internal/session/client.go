// Package session is who talks to the server: its clients, their users and what these
// may do, the settings that they read and change, and what is noted of what they have
// done: counters, the slow log, latencies, and what MONITOR shows. It knows no command:
// the engine says which one was run, and how its arguments may be shown.
package session

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bloomery/bloomery/server/internal/acl"
)

// Slots is how many groups clients are sorted into, so that those on different
// processors do not share a cache line: each group has a lock of the gate, and counters.
const Slots = 16

// Client is who talks: what the server knows of a client, apart from its connection and
// from what it runs. Init makes it.
//
// It belongs to the goroutine that runs its commands; what other clients may
// look at (CLIENT LIST) is behind methods.
type Client struct {
	// ID, Addr, LocalAddr, Created and Slot never change.
	ID              int64
	Addr, LocalAddr string
	Created         time.Time
	Slot            int
	// Proto is the protocol version of replies, 2 or 3.
	Proto uint8
	// Authenticated reports that the client has logged in, or needed no password when
	// it came.
	Authenticated bool
	// Quit reports that the connection ends when what was answered is written.
	Quit bool
	// Gone, if it is not nil, reports whether the client has left while a command of it
	// runs. The goroutine that runs its commands calls it.
	Gone func() bool
	// Watching reports that it is the server's own page that asks: its commands are no
	// traffic.
	Watching bool

	// Last is the name of its last command, with that of its container.
	Last atomic.Pointer[string]
	// InMulti is how many commands it has queued, plus one, 0 outside of transactions;
	// Watches is how many keys it watches.
	InMulti, Watches atomic.Int32

	active    atomic.Int64 // Unix nanoseconds
	protoSeen atomic.Int32
	memory    atomic.Int64 // bytes held for this client
	monitor   atomic.Pointer[Monitor]
	who       atomic.Pointer[account]       // the user; nil before the first command
	wake      atomic.Pointer[chan struct{}] // ends a wait for the end of a pause
	ended     atomic.Bool                   // nobody takes its replies

	mu             sync.Mutex // name, library and libraryVersion
	name           string
	library        string
	libraryVersion string

	muted    bool // by CLIENT REPLY OFF
	skipNext bool

	closeConnection func()
}

// Init makes c a new client. kill closes its connection and may be called from any
// goroutine.
func (c *Client) Init(id int64, addr, local string, now time.Time, kill func()) {
	c.ID, c.Addr, c.LocalAddr, c.Created, c.Slot, c.Proto = id, addr, local, now, int(uint64(id)%Slots), 2
	c.closeConnection = kill
	c.Act(now)
	c.protoSeen.Store(2)
}

// Act notes that the client has sent something.
func (c *Client) Act(now time.Time) { c.active.Store(now.UnixNano()) }

// LastActive returns when the client last sent something, in Unix nanoseconds.
func (c *Client) LastActive() int64 { return c.active.Load() }

// Idle returns for how long the client has sent nothing.
func (c *Client) Idle(now time.Time) time.Duration {
	return now.Sub(time.Unix(0, c.LastActive()))
}

// Hold counts n more bytes (fewer if n is negative) that the server holds for the client.
func (c *Client) Hold(n int) { c.memory.Add(int64(n)) }

// Memory returns how many bytes the server holds for the client.
func (c *Client) Memory() int64 { return c.memory.Load() }

// Kill closes the connection. It does not wait.
func (c *Client) Kill() { c.closeConnection() }

// End has no further call of the client run, but those of a transaction that has
// begun: it is gone. Any goroutine may call it; it does not wait.
func (c *Client) End() {
	c.ended.Store(true)
	c.Wake()
}

// Ended reports whether End was called.
func (c *Client) Ended() bool { return c.ended.Load() }

// Rights returns the user of a client that has run a command.
func (c *Client) Rights() *acl.User { return c.who.Load().user.Load() }

// User returns the name of the user.
func (c *Client) User() string {
	if a := c.who.Load(); a != nil {
		return a.user.Load().Name()
	}
	return acl.Default
}

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
func (c *Client) Name() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.name
}

// SetName names a client. It reports false if the name has bytes that would
// spoil CLIENT LIST, or too many.
func (c *Client) SetName(name []byte) bool {
	if !printable(name) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.name = string(name)
	return true
}

// SetLibrary notes name and version of the client library; nil leaves one as it
// is. It reports false as SetName does.
func (c *Client) SetLibrary(name, version []byte) bool {
	if !printable(name) || !printable(version) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if name != nil {
		c.library = string(name)
	}
	if version != nil {
		c.libraryVersion = string(version)
	}
	return true
}

// SetProto sets the protocol of replies.
func (c *Client) SetProto(proto uint8) {
	c.Proto = proto
	c.protoSeen.Store(int32(proto))
}

// SetReplies turns replies on or off.
func (c *Client) SetReplies(on bool) {
	if c.muted = !on; on {
		c.skipNext = false
	}
}

// SkipReply leaves out the reply to the next command.
func (c *Client) SkipReply() { c.skipNext = !c.muted }

// Wants reports whether the client takes the reply to the command that was run.
func (c *Client) Wants() bool { return !c.muted && !c.skipNext }

// Skipped ends what SkipReply has begun.
func (c *Client) Skipped() { c.skipNext = false }

// Reset puts a client back to its beginning, as RESET does, but for its user.
func (c *Client) Reset() {
	c.SetProto(2)
	c.SetReplies(true)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.name = ""
}

// Describe is the line of CLIENT LIST for a client.
func (c *Client) Describe(now time.Time) string {
	cmd, flags, queued := "NULL", "N", int(c.InMulti.Load())-1
	if c.monitor.Load() != nil {
		flags = "O"
	}
	if last := c.Last.Load(); last != nil {
		cmd = *last
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprintf("id=%d addr=%s laddr=%s fd=0 name=%s age=%d idle=%d flags=%s db=0 sub=0 psub=0 ssub=0 multi=%d watch=%d "+
		"qbuf=0 qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 omem=0 tot-mem=%d events=r cmd=%s user=%s redir=-1 "+
		"resp=%d lib-name=%s lib-ver=%s",
		c.ID, c.Addr, c.LocalAddr, c.name, int(now.Sub(c.Created).Seconds()), int(c.Idle(now).Seconds()), flags, queued, c.Watches.Load(),
		c.Memory(), cmd, c.User(), c.protoSeen.Load(), c.library, c.libraryVersion)
}
