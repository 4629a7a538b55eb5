package connection

// CLIENT KILL: which connections are closed.

import (
	"time"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/session"
)

// killFilter is which connections CLIENT KILL closes.
type killFilter struct {
	id          int64
	addr, local string
	user        string
	normal      bool
	skipMe      bool
	maxAge      time.Duration
	old         bool // kill addr: the form with one argument
}

// parseClientKill reads the arguments of CLIENT KILL. It returns the error text,
// or "".
func parseClientKill(x *engine.Context, args [][]byte) (f killFilter, text string) {
	f = killFilter{normal: true, skipMe: true}
	if len(args) == 1 {
		f.addr, f.old, f.skipMe = string(args[0]), true, false
		return f, ""
	}
	if len(args)%2 != 0 {
		return f, answer.TextSyntax
	}
	for i := 0; i < len(args); i += 2 {
		value := args[i+1]
		switch {
		case answer.Is(args[i], "id"):
			id, ok := answer.ParseInt(value)
			if !ok || id < 1 {
				return f, "ERR client-id should be greater than 0"
			}
			f.id = id
		case answer.Is(args[i], "addr"):
			f.addr = string(value)
		case answer.Is(args[i], "laddr"):
			f.local = string(value)
		case answer.Is(args[i], "user"):
			if f.user = string(value); x.Users().Named(f.user) == nil {
				return f, "ERR No such user '" + f.user + "'"
			}
		case answer.Is(args[i], "type"):
			switch {
			case answer.Is(value, "normal"):
			case answer.Is(value, "master"), answer.Is(value, "replica"), answer.Is(value, "slave"), answer.Is(value, "pubsub"):
				f.normal = false
			default:
				return f, "ERR Unknown client type '" + string(value) + "'"
			}
		case answer.Is(args[i], "skipme"):
			if !answer.Is(value, "yes") && !answer.Is(value, "no") {
				return f, answer.TextSyntax
			}
			f.skipMe = answer.Is(value, "yes")
		case answer.Is(args[i], "maxage"):
			n, ok := answer.ParseInt(value)
			if !ok || n < 1 {
				return f, "ERR maxage is not an integer or out of range"
			}
			f.maxAge = time.Duration(min(n, 1<<32)) * time.Second
		default:
			return f, answer.TextSyntax
		}
	}
	return f, ""
}

// takes reports whether a connection is to be closed.
func (f *killFilter) takes(x *engine.Context, p *session.Client) bool {
	return f.normal && (!f.skipMe || p != x.Client()) &&
		(f.id == 0 || f.id == p.ID) &&
		(f.addr == "" || f.addr == p.Addr) &&
		(f.user == "" || f.user == p.User()) &&
		(f.local == "" || f.local == p.LocalAddr) &&
		(f.maxAge == 0 || x.Now().Sub(p.Created) >= f.maxAge)
}

func runClientKill(x *engine.Context, c *engine.Call) {
	f, text := parseClientKill(x, c.Args[2:])
	if text != "" {
		c.Fail(text)
		return
	}
	killed := int64(0)
	x.Server().Peers(func(p *session.Client) {
		switch {
		case !f.takes(x, p):
			return
		case p == x.Client():
			p.Quit = true // when this is answered
		default:
			p.Kill()
		}
		killed++
	})
	switch {
	case !f.old:
		c.Answer(answer.Integer(killed))
	case killed == 0:
		c.Fail("ERR No such client")
	default:
		c.Answer(answer.OK())
	}
}
