package command

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

const textClientName = "ERR Client names cannot contain spaces, newlines or special characters."

// clientCmd is CLIENT, with its subcommands.
var clientCmd = Command{
	Name: "client", Arity: -2, Group: groupConnection, Since: "2.4.0", Syntax: "subcommand", Summary: "Tells of clients and sets what they want.",
	Categories: []string{"slow"},
	Subcommands: []Command{
		{
			Name: "getname", Arity: 2, Flags: NoScript | Loading | Stale, Categories: []string{"slow", "connection"},
			Complexity: "O(1)", Summary: "Returns the name of this connection.",
			run: func(_ *Engine, s *Session, c *Call) {
				if s.name == "" {
					c.answer(null())
					return
				}
				c.answer(bulk(s.name))
			},
		},
		{
			Name: "id", Arity: 2, Flags: NoScript | Loading | Stale, Categories: []string{"slow", "connection"},
			Complexity: "O(1)", Summary: "Returns the number of this connection.",
			run: func(_ *Engine, s *Session, c *Call) { c.answer(integer(s.ID)) },
		},
		{
			Name: "info", Arity: 2, Flags: NoScript | Loading | Stale, Categories: []string{"slow", "connection"},
			Complexity: "O(1)", Summary: "Describes this connection.",
			run: func(_ *Engine, s *Session, c *Call) {
				c.answer(Reply{Kind: Verbatim, Text: s.describe(s.now) + "\n"})
			},
		},
		{
			Name: "kill", Arity: -3, Flags: Admin | NoScript | Loading | Stale, Categories: []string{"admin", "slow", "dangerous", "connection"},
			Syntax:     "ip:port | [ID client-id] [TYPE NORMAL] [USER username] [ADDR ip:port] [LADDR ip:port] [SKIPME yes|no] [MAXAGE seconds]",
			Complexity: "O(n), n being the number of connections", Summary: "Closes connections.",
			run: runClientKill,
		},
		{
			Name: "list", Arity: -2, Flags: Admin | NoScript | Loading | Stale, Categories: []string{"admin", "slow", "dangerous", "connection"},
			Syntax:     "[TYPE NORMAL|MASTER|REPLICA|PUBSUB] [ID client-id [client-id ...]]",
			Complexity: "O(n), n being the number of connections", Summary: "Describes all connections.",
			run: runClientList,
		},
		{
			Name: "no-evict", Arity: 3, Flags: Admin | NoScript | Loading | Stale, Categories: []string{"admin", "slow", "dangerous", "connection"},
			Syntax: "ON|OFF", Complexity: "O(1)", Summary: "Accepted; connections are not evicted here.",
			run: func(_ *Engine, s *Session, c *Call) { setOnOff(c, &s.noEvict) },
		},
		{
			Name: "no-touch", Arity: 3, Flags: NoScript | Loading | Stale, Categories: []string{"slow", "connection"},
			Syntax: "ON|OFF", Complexity: "O(1)", Summary: "Accepted; reading a key changes nothing here.",
			run: func(_ *Engine, s *Session, c *Call) { setOnOff(c, &s.noTouch) },
		},
		{
			Name: "reply", Arity: 3, Flags: NoScript | Loading | Stale, Categories: []string{"slow", "connection"},
			Syntax: "ON|OFF|SKIP", Complexity: "O(1)", Summary: "Turns replies on or off, or skips the next.",
			run: runClientReply,
		},
		{
			Name: "setinfo", Arity: 4, Flags: NoScript | Loading | Stale, Categories: []string{"slow", "connection"},
			Syntax: "LIB-NAME libname | LIB-VER libver", Complexity: "O(1)", Summary: "Notes the client library.",
			run: runClientSetInfo,
		},
		{
			Name: "setname", Arity: 3, Flags: NoScript | Loading | Stale, Categories: []string{"slow", "connection"},
			Syntax: "connection-name", Complexity: "O(1)", Summary: "Names this connection.",
			run: func(_ *Engine, s *Session, c *Call) {
				if !s.setName(c.Args[2]) {
					c.answer(fail(textClientName))
					return
				}
				c.answer(okReply)
			},
		},
		{
			Name: "tracking", Arity: -3, Flags: NoScript | Loading | Stale, Categories: []string{"slow", "connection"},
			Syntax: "ON|OFF [option ...]", Complexity: "O(1)", Summary: "Refused: client-side caching is not supported.",
			run: func(_ *Engine, _ *Session, c *Call) {
				if is(c.Args[2], "off") {
					c.answer(okReply)
					return
				}
				c.answer(fail("ERR Client tracking is not supported by this server"))
			},
		},
	},
}

// maxName bounds what a client may have noted about itself.
const maxName = 64 << 10

// setName names a session. It reports false if the name has bytes that would
// spoil CLIENT LIST, or too many.
func (s *Session) setName(name []byte) bool {
	if len(name) > maxName {
		return false
	}
	for _, c := range name {
		if c < '!' || c > '~' {
			return false
		}
	}
	s.mu.Lock()
	s.name = string(name)
	s.mu.Unlock()
	return true
}

func setOnOff(c *Call, v *bool) {
	switch {
	case is(c.Args[2], "on"):
		*v = true
	case is(c.Args[2], "off"):
		*v = false
	default:
		c.answer(fail(textSyntax))
		return
	}
	c.answer(okReply)
}

func runClientReply(_ *Engine, s *Session, c *Call) {
	switch {
	case is(c.Args[2], "on"):
		s.replies, s.skipNext = repliesOn, false
		c.answer(okReply)
	case is(c.Args[2], "off"):
		s.replies = repliesOff
		c.answer(okReply)
	case is(c.Args[2], "skip"):
		if s.replies == repliesOn {
			s.skipNext = true
		}
		c.answer(okReply)
	default:
		c.answer(fail(textSyntax))
	}
}

func runClientSetInfo(_ *Engine, s *Session, c *Call) {
	value := c.Args[3]
	for i, b := range value {
		if b < '!' || b > '~' || i == maxName {
			c.answer(fail("ERR " + lower(c.Args[2]) + " cannot contain spaces, newlines or special characters."))
			return
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case is(c.Args[2], "lib-name"):
		s.library = string(value)
	case is(c.Args[2], "lib-ver"):
		s.libraryVersion = string(value)
	default:
		c.answer(fail("ERR Unrecognized option '" + string(c.Args[2]) + "'"))
		return
	}
	c.answer(okReply)
}

// describe is the line of CLIENT LIST for a session.
func (s *Session) describe(now time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	cmd, multi := "NULL", -1
	if c := s.lastCmd.Load(); c != nil {
		cmd = c.full
	}
	if s.inMulti.Load() {
		multi = 0
	}
	return fmt.Sprintf("id=%d addr=%s laddr=%s fd=0 name=%s age=%d idle=%d flags=N db=0 sub=0 psub=0 ssub=0 multi=%d watch=0 "+
		"qbuf=0 qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 omem=0 tot-mem=0 events=r cmd=%s user=default redir=-1 "+
		"resp=%d lib-name=%s lib-ver=%s",
		s.ID, s.Addr, s.LocalAddr, s.name, int(now.Sub(s.Created).Seconds()), int(s.Idle(now).Seconds()), multi, cmd,
		s.protoSeen.Load(), s.library, s.libraryVersion)
}

func runClientList(e *Engine, s *Session, c *Call) {
	var ids []int64
	args := c.Args[2:]
	normal := true
	switch {
	case len(args) == 0:
	case is(args[0], "type") && len(args) == 2:
		normal = is(args[1], "normal")
		if !normal && !is(args[1], "master") && !is(args[1], "replica") && !is(args[1], "slave") && !is(args[1], "pubsub") {
			c.answer(fail("ERR Unknown client type '" + string(args[1]) + "'"))
			return
		}
	case is(args[0], "id") && len(args) > 1:
		for _, a := range args[1:] {
			id, ok := parseInt(a)
			if !ok || id < 1 {
				c.answer(fail("ERR Invalid client ID"))
				return
			}
			ids = append(ids, id)
		}
	default:
		c.answer(fail(textSyntax))
		return
	}
	var b strings.Builder
	for _, other := range e.host.Sessions() {
		if normal && (ids == nil || slices.Contains(ids, other.ID)) {
			b.WriteString(other.describe(s.now))
			b.WriteByte('\n')
		}
	}
	c.answer(Reply{Kind: Verbatim, Text: b.String()})
}
