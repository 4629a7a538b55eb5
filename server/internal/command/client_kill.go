package command

import "time"

// killFilter is which connections CLIENT KILL closes.
type killFilter struct {
	id          int64
	addr, local string
	normal      bool
	skipMe      bool
	maxAge      time.Duration
	old         bool // kill addr: the form with one argument
}

// parseClientKill reads the arguments of CLIENT KILL. It returns the error text,
// or "".
func parseClientKill(args [][]byte) (f killFilter, text string) {
	f = killFilter{normal: true, skipMe: true}
	if len(args) == 1 {
		f.addr, f.old, f.skipMe = string(args[0]), true, false
		return f, ""
	}
	if len(args)%2 != 0 {
		return f, textSyntax
	}
	for i := 0; i < len(args); i += 2 {
		value := args[i+1]
		switch {
		case is(args[i], "id"):
			id, ok := parseInt(value)
			if !ok || id < 1 {
				return f, "ERR client-id should be greater than 0"
			}
			f.id = id
		case is(args[i], "addr"):
			f.addr = string(value)
		case is(args[i], "laddr"):
			f.local = string(value)
		case is(args[i], "user"):
			if string(value) != "default" {
				return f, "ERR No such user '" + string(value) + "'"
			}
		case is(args[i], "type"):
			switch {
			case is(value, "normal"):
			case is(value, "master"), is(value, "replica"), is(value, "slave"), is(value, "pubsub"):
				f.normal = false
			default:
				return f, "ERR Unknown client type '" + string(value) + "'"
			}
		case is(args[i], "skipme"):
			if !is(value, "yes") && !is(value, "no") {
				return f, textSyntax
			}
			f.skipMe = is(value, "yes")
		case is(args[i], "maxage"):
			n, ok := parseInt(value)
			if !ok || n < 1 {
				return f, "ERR maxage is not an integer or out of range"
			}
			f.maxAge = time.Duration(min(n, 1<<32)) * time.Second
		default:
			return f, textSyntax
		}
	}
	return f, ""
}

// takes reports whether a connection is to be closed.
func (f *killFilter) takes(me, s *Session) bool {
	return f.normal && (!f.skipMe || s != me) &&
		(f.id == 0 || f.id == s.ID) &&
		(f.addr == "" || f.addr == s.Addr) &&
		(f.local == "" || f.local == s.LocalAddr) &&
		(f.maxAge == 0 || me.now.Sub(s.Created) >= f.maxAge)
}

func runClientKill(e *Engine, s *Session, c *Call) {
	f, text := parseClientKill(c.Args[2:])
	if text != "" {
		c.answer(fail(text))
		return
	}
	killed := int64(0)
	for _, other := range e.host.Sessions() {
		if !f.takes(s, other) {
			continue
		}
		killed++
		if other == s {
			s.Quit = true
			continue
		}
		other.Kill()
	}
	switch {
	case !f.old:
		c.answer(integer(killed))
	case killed == 0:
		c.answer(fail("ERR No such client"))
	default:
		c.answer(okReply)
	}
}
