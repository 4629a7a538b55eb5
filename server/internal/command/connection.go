package command

import (
	"crypto/sha256"
	"crypto/subtle"
)

// pingCmd is PING [message].
var pingCmd = Command{
	Name: "ping", Arity: -1, Max: 2, Flags: Fast, Categories: []string{"fast", "connection"}, Group: groupConnection,
	Since: "1.0.0", Syntax: "[message]", Complexity: "O(1)", Summary: "Answers PONG, or the message.",
	run: func(_ *Engine, _ *Session, c *Call) {
		if len(c.Args) == 2 {
			c.answer(bulk(string(c.Args[1])))
			return
		}
		c.answer(pong)
	},
}

var pong = Reply{Kind: Status, Text: "PONG"}

// echoCmd is ECHO message.
var echoCmd = Command{
	Name: "echo", Arity: 2, Flags: Fast | Loading | Stale, Categories: []string{"fast", "connection"}, Group: groupConnection,
	Since: "1.0.0", Syntax: "message", Complexity: "O(1)", Summary: "Answers the message.",
	run: func(_ *Engine, _ *Session, c *Call) { c.answer(bulk(string(c.Args[1]))) },
}

// quitCmd is QUIT.
var quitCmd = Command{
	Name: "quit", Arity: -1, Flags: Fast | NoAuth | NoScript | Loading | Stale | immediate,
	Categories: []string{"fast", "connection"}, Group: groupConnection,
	Since: "1.0.0", Complexity: "O(1)", Summary: "Closes the connection.",
	run: func(_ *Engine, s *Session, c *Call) {
		s.Quit = true
		c.answer(okReply)
	},
}

// resetCmd is RESET.
var resetCmd = Command{
	Name: "reset", Arity: 1, Flags: Fast | NoAuth | NoScript | Loading | Stale | immediate,
	Categories: []string{"fast", "connection"}, Group: groupConnection,
	Since: "6.2.0", Complexity: "O(1)", Summary: "Puts the connection back to its beginning.",
	run: func(e *Engine, s *Session, c *Call) {
		e.discard(s)
		s.reset(e.Settings.Password() == "")
		c.answer(status("RESET"))
	},
}

// selectCmd is SELECT index. There is one database.
var selectCmd = Command{
	Name: "select", Arity: 2, Flags: Fast | Loading | Stale, Categories: []string{"fast", "connection"}, Group: groupConnection,
	Since: "1.0.0", Syntax: "index", Complexity: "O(1)", Summary: "Chooses the database; there is one, 0.",
	run: func(_ *Engine, _ *Session, c *Call) {
		n, ok := parseInt(c.Args[1])
		switch {
		case !ok || n != int64(int32(n)):
			c.answer(fail(textInteger))
		case n != 0:
			c.answer(fail(textDB))
		default:
			c.answer(okReply)
		}
	},
}

// authCmd is AUTH [username] password.
var authCmd = Command{
	Name: "auth", Arity: -2, Flags: Fast | NoAuth | NoScript | Loading | Stale | immediate,
	Categories: []string{"fast", "connection"}, Group: groupConnection,
	Since: "1.0.0", Syntax: "[username] password", Complexity: "O(1)", Summary: "Gives the password.",
	run: func(e *Engine, s *Session, c *Call) {
		user := []byte("default")
		if len(c.Args) > 3 {
			c.answer(fail(textSyntax))
			return
		}
		if len(c.Args) == 3 {
			user = c.Args[1]
		} else if e.Settings.Password() == "" {
			c.answer(fail(textNoPassword))
			return
		}
		if !e.authenticate(s, user, c.Args[len(c.Args)-1]) {
			c.answer(fail(textWrongPass))
			return
		}
		c.answer(okReply)
	},
}

// authenticate checks a password. Without one configured, the default user has
// none and any is right, as in Redis. It takes the same time for every wrong
// password.
func (e *Engine) authenticate(s *Session, user, password []byte) bool {
	if string(user) != "default" {
		return false
	}
	want := e.Settings.Password()
	got, right := sha256.Sum256(password), sha256.Sum256([]byte(want))
	if want != "" && subtle.ConstantTimeCompare(got[:], right[:]) == 0 {
		return false
	}
	s.Authenticated = true
	return true
}
