package connection

import (
	"slices"
	"strings"
	"time"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/session"
	"github.com/bloomery/bloomery/server/internal/traits"
)

const textClientName = "ERR Client names cannot contain spaces, newlines or special characters."

// client is CLIENT, with its subcommands.
var client = engine.Command{
	Name: "client", Arity: -2, Group: traits.GroupConnection, Since: "2.4.0", Syntax: "subcommand", Summary: "Describes clients and changes their settings.",
	Categories: []string{"slow"},
	Subcommands: []engine.Command{
		{
			Name: "getname", Arity: 2, Flags: traits.NoScript | traits.Loading | traits.Stale, Categories: []string{"slow", "connection"},
			Complexity: "O(1)", Summary: "Returns the name of this connection.",
			Run: func(x *engine.Context, c *engine.Call) {
				name := x.Client().Name()
				if name == "" {
					c.Answer(answer.Nil())
					return
				}
				c.Answer(answer.Text(name))
			},
		},
		{
			Name: "id", Arity: 2, Flags: traits.NoScript | traits.Loading | traits.Stale, Categories: []string{"slow", "connection"},
			Complexity: "O(1)", Summary: "Returns the number of this connection.",
			Run: func(x *engine.Context, c *engine.Call) { c.Answer(answer.Integer(x.Client().ID)) },
		},
		{
			Name: "info", Arity: 2, Flags: traits.NoScript | traits.Loading | traits.Stale, Categories: []string{"slow", "connection"},
			Complexity: "O(1)", Summary: "Describes this connection.",
			Run: func(x *engine.Context, c *engine.Call) {
				c.Answer(answer.Reply{Kind: answer.Verbatim, Text: x.Server().Describe() + "\n"})
			},
		},
		{
			Name: "kill", Arity: -3, Flags: traits.Admin | traits.NoScript | traits.Loading | traits.Stale | traits.Outside, Categories: []string{"admin", "slow", "dangerous", "connection"},
			Syntax:     "ip:port | [ID client-id] [TYPE NORMAL] [USER username] [ADDR ip:port] [LADDR ip:port] [SKIPME yes|no] [MAXAGE seconds]",
			Complexity: "O(n), n being the number of connections", Summary: "Closes connections.",
			Run: runClientKill,
		},
		{
			Name: "list", Arity: -2, Flags: traits.Admin | traits.NoScript | traits.Loading | traits.Stale | traits.Outside, Categories: []string{"admin", "slow", "dangerous", "connection"},
			Syntax:     "[TYPE NORMAL|MASTER|REPLICA|PUBSUB] [ID client-id [client-id ...]]",
			Complexity: "O(n), n being the number of connections", Summary: "Describes all connections.",
			Cost: func(x *engine.Costs, _ *engine.Call) { x.Clients() },
			Run:  runClientList,
		},
		{
			Name: "no-evict", Arity: 3, Flags: traits.Admin | traits.NoScript | traits.Loading | traits.Stale, Categories: []string{"admin", "slow", "dangerous", "connection"},
			Syntax: "ON|OFF", Complexity: "O(1)", Summary: "Accepted; connections are not evicted here.",
			Run: runOnOff,
		},
		{
			Name: "no-touch", Arity: 3, Flags: traits.NoScript | traits.Loading | traits.Stale, Categories: []string{"slow", "connection"},
			Syntax: "ON|OFF", Complexity: "O(1)", Summary: "Accepted; reading a key changes nothing here.",
			Run: runOnOff,
		},
		{
			Name: "pause", Arity: -3, Max: 4, Flags: traits.Admin | traits.NoScript | traits.Loading | traits.Stale, Categories: []string{"admin", "slow", "dangerous", "connection"},
			Syntax: "timeout [WRITE|ALL]", Complexity: "O(1)",
			Summary: "Holds the commands of clients back for so many milliseconds, all or those that write. Those of operators are run, so that they can end it.",
			Run:     runClientPause,
		},
		{
			Name: "reply", Arity: 3, Flags: traits.NoScript | traits.Loading | traits.Stale, Categories: []string{"slow", "connection"},
			Syntax: "ON|OFF|SKIP", Complexity: "O(1)", Summary: "Turns replies on or off, or skips the next.",
			Run: runClientReply,
		},
		{
			Name: "setinfo", Arity: 4, Flags: traits.NoScript | traits.Loading | traits.Stale, Categories: []string{"slow", "connection"},
			Syntax: "LIB-NAME libname | LIB-VER libver", Complexity: "O(1)", Summary: "Notes the client library.",
			Run: runClientSetInfo,
		},
		{
			Name: "setname", Arity: 3, Flags: traits.NoScript | traits.Loading | traits.Stale, Categories: []string{"slow", "connection"},
			Syntax: "connection-name", Complexity: "O(1)", Summary: "Names this connection.",
			Run: func(x *engine.Context, c *engine.Call) {
				if !x.Client().SetName(c.Args[2]) {
					c.Fail(textClientName)
					return
				}
				c.Answer(answer.OK())
			},
		},
		{
			Name: "tracking", Arity: -3, Flags: traits.NoScript | traits.Loading | traits.Stale, Categories: []string{"slow", "connection"},
			Syntax: "ON|OFF [option ...]", Complexity: "O(1)", Summary: "Refused: client-side caching is not supported.",
			Run: func(_ *engine.Context, c *engine.Call) {
				if answer.Is(c.Args[2], "off") {
					c.Answer(answer.OK())
					return
				}
				c.Fail("ERR Client tracking is not supported by this server")
			},
		},
		{
			Name: "unpause", Arity: 2, Flags: traits.Admin | traits.NoScript | traits.Loading | traits.Stale, Categories: []string{"admin", "slow", "dangerous", "connection"},
			Complexity: "O(n), n being the number of clients that wait", Summary: "Ends a pause.",
			Run: func(x *engine.Context, c *engine.Call) {
				x.Server().Pause().End(false)
				c.Answer(answer.OK())
			},
		},
	},
}

// runOnOff takes ON and OFF: what they turn on or off does not exist here.
func runOnOff(_ *engine.Context, c *engine.Call) {
	if !answer.Is(c.Args[2], "on") && !answer.Is(c.Args[2], "off") {
		c.Fail(answer.TextSyntax)
		return
	}
	c.Answer(answer.OK())
}

// longestPause bounds a pause: nobody means more, and it fits a duration.
const longestPause = 365 * 24 * time.Hour

func runClientPause(x *engine.Context, c *engine.Call) {
	millis, ok := answer.ParseInt(c.Args[2])
	all := true
	switch {
	case len(c.Args) == 4 && answer.Is(c.Args[3], "write"):
		all = false
	case len(c.Args) == 4 && !answer.Is(c.Args[3], "all"):
		c.Fail("ERR CLIENT PAUSE mode must be WRITE or ALL")
		return
	}
	switch {
	case !ok:
		c.Fail("ERR timeout is not an integer or out of range")
	case millis < 0:
		c.Fail("ERR timeout is negative")
	default:
		x.Server().Pause().Begin(time.Duration(min(millis, longestPause.Milliseconds()))*time.Millisecond, all)
		c.Answer(answer.OK())
	}
}

func runClientReply(x *engine.Context, c *engine.Call) {
	switch {
	case answer.Is(c.Args[2], "on"):
		x.Client().SetReplies(true)
	case answer.Is(c.Args[2], "off"):
		x.Client().SetReplies(false)
	case answer.Is(c.Args[2], "skip"):
		x.Client().SkipReply()
	default:
		c.Fail(answer.TextSyntax)
		return
	}
	c.Answer(answer.OK())
}

func runClientSetInfo(x *engine.Context, c *engine.Call) {
	var name, version []byte
	switch {
	case answer.Is(c.Args[2], "lib-name"):
		name = c.Args[3]
	case answer.Is(c.Args[2], "lib-ver"):
		version = c.Args[3]
	default:
		c.Fail("ERR Unrecognized option '" + string(c.Args[2]) + "'")
		return
	}
	if !x.Client().SetLibrary(name, version) {
		c.Fail("ERR " + answer.Lower(c.Args[2]) + " cannot contain spaces, newlines or special characters.")
		return
	}
	c.Answer(answer.OK())
}

func runClientList(x *engine.Context, c *engine.Call) {
	var ids []int64
	args := c.Args[2:]
	normal := true
	switch {
	case len(args) == 0:
	case answer.Is(args[0], "type") && len(args) == 2:
		normal = answer.Is(args[1], "normal")
		if !normal && !answer.Is(args[1], "master") && !answer.Is(args[1], "replica") && !answer.Is(args[1], "slave") && !answer.Is(args[1], "pubsub") {
			c.Fail("ERR Unknown client type '" + string(args[1]) + "'")
			return
		}
	case answer.Is(args[0], "id") && len(args) > 1:
		for _, a := range args[1:] {
			id, ok := answer.ParseInt(a)
			if !ok || id < 1 {
				c.Fail("ERR Invalid client ID")
				return
			}
			ids = append(ids, id)
		}
	default:
		c.Fail(answer.TextSyntax)
		return
	}
	var b strings.Builder
	x.Server().Peers(func(p *session.Client) {
		if normal && (ids == nil || slices.Contains(ids, p.ID)) {
			b.WriteString(p.Describe(x.Now()))
			b.WriteByte('\n')
		}
	})
	c.Answer(answer.Reply{Kind: answer.Verbatim, Text: b.String()})
}
