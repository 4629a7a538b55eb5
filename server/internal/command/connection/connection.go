// Package connection is the commands on the connection itself: PING, AUTH, HELLO,
// CLIENT, and transactions.
package connection

import (
	"github.com/bloomery/bloomery/server/internal/acl"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// Commands returns the commands on the connection.
func Commands() []engine.Command {
	return []engine.Command{
		auth, client, discard, echo, exec, helloCommand, multi, ping, quit, reset, selectCmd, unwatch, watch,
	}
}

const (
	textWrongPass  = "WRONGPASS invalid username-password pair or user is disabled."
	textNoPassword = "ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?"
	textOneDB      = answer.TextDB + ": this server has one database, 0. Give the keys of each application a prefix, or run a server for each"
	textNoProto    = "NOPROTO unsupported protocol version"
)

// ping is PING [message].
var ping = engine.Command{
	Name: "ping", Arity: -1, Max: 2, Flags: traits.Fast, Categories: []string{"fast", "connection"}, Group: traits.GroupConnection,
	Since: "1.0.0", Syntax: "[message]", Complexity: "O(1)", Summary: "Answers PONG, or the message.",
	Run: func(_ *engine.Context, c *engine.Call) {
		if len(c.Args) == 2 {
			c.Answer(answer.Text(string(c.Args[1])))
			return
		}
		c.Answer(pong)
	},
}

var pong = answer.Word("PONG")

// echo is ECHO message.
var echo = engine.Command{
	Name: "echo", Arity: 2, Flags: traits.Fast | traits.Loading | traits.Stale, Categories: []string{"fast", "connection"}, Group: traits.GroupConnection,
	Since: "1.0.0", Syntax: "message", Complexity: "O(1)", Summary: "Answers the message.",
	Run: func(_ *engine.Context, c *engine.Call) { c.Answer(answer.Text(string(c.Args[1]))) },
}

// quit is QUIT.
var quit = engine.Command{
	Name: "quit", Arity: -1, Flags: traits.Fast | traits.NoAuth | traits.NoScript | traits.Loading | traits.Stale | traits.Immediate,
	Categories: []string{"fast", "connection"}, Group: traits.GroupConnection,
	Since: "1.0.0", Complexity: "O(1)", Summary: "Closes the connection.",
	Run: func(x *engine.Context, c *engine.Call) {
		x.Client().Quit = true
		c.Answer(answer.OK())
	},
}

// reset is RESET.
var reset = engine.Command{
	Name: "reset", Arity: 1, Flags: traits.Fast | traits.NoAuth | traits.NoScript | traits.Loading | traits.Stale | traits.Immediate,
	Categories: []string{"fast", "connection"}, Group: traits.GroupConnection,
	Since: "6.2.0", Complexity: "O(1)", Summary: "Puts the connection back to its beginning.",
	Run: func(x *engine.Context, c *engine.Call) {
		x.Reset()
		c.Answer(answer.Word("RESET"))
	},
}

// selectCmd is SELECT index. There is one database.
var selectCmd = engine.Command{
	Name: "select", Arity: 2, Flags: traits.Fast | traits.Loading | traits.Stale, Categories: []string{"fast", "connection"}, Group: traits.GroupConnection,
	Since: "1.0.0", Syntax: "index", Complexity: "O(1)", Summary: "Chooses the database; there is one, 0.",
	Run: func(_ *engine.Context, c *engine.Call) {
		n, ok := answer.ParseInt(c.Args[1])
		switch {
		case !ok || n != int64(int32(n)):
			c.Fail(answer.TextInteger)
		case n != 0:
			c.Fail(textOneDB)
		default:
			c.Answer(answer.OK())
		}
	},
}

// auth is AUTH [username] password.
var auth = engine.Command{
	Name: "auth", Arity: -2, Flags: traits.Fast | traits.NoAuth | traits.NoScript | traits.Loading | traits.Stale | traits.Immediate,
	Categories: []string{"fast", "connection"}, Group: traits.GroupConnection,
	Secret: traits.Behind(1), Since: "1.0.0", Syntax: "[username] password", Complexity: "O(n), n being the number of passwords of the user",
	Summary: "Makes this connection that of a user.",
	Run: func(x *engine.Context, c *engine.Call) {
		user := []byte(acl.Default)
		if len(c.Args) > 3 {
			c.Fail(answer.TextSyntax)
			return
		}
		if len(c.Args) == 3 {
			user = c.Args[1]
		} else if x.Users().DefaultNeedsNone() {
			c.Fail(textNoPassword)
			return
		}
		if !x.Login(user, c.Args[len(c.Args)-1], "AUTH") {
			c.Fail(textWrongPass)
			return
		}
		c.Answer(answer.OK())
	},
}
