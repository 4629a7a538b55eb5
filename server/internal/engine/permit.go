package engine

// Whether a user may make a call.

import (
	"slices"
	"time"

	"github.com/bloomery/bloomery/server/internal/acl"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/session"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

const (
	// TextNoKey is the error of a command on a key that its user may not touch.
	TextNoKey   = "NOPERM No permissions to access a key"
	textChanged = "NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. " +
		"This command is no longer allowed for the following reason: "
)

// everyKey is where the key of a command is that works on all of them.
const everyKey = -1

// refused returns why a user may not make a call of the command, and where the key is
// that may not be touched. One selector must allow the command and all of its keys. With a
// session it lets others run now and then, and refuses all once the client was killed.
func (c *Command) refused(s *Session, u *acl.User, args [][]byte) (why acl.Reason, at int) {
	why = acl.Cmd
	selectors := u.Selectors()
	for i := range selectors {
		if c.Flags&traits.NoAuth == 0 && !selectors[i].MayRun(c.index) {
			continue
		}
		if at = c.untouchable(s, &selectors[i], args); at == 0 {
			return acl.Allowed, 0
		}
		why = acl.Key
	}
	return why, at
}

// untouchable returns where the first key is that a selector does not allow, 0 if it
// allows all.
func (c *Command) untouchable(s *Session, v *acl.Selector, args [][]byte) int {
	if c.Flags&traits.Everything != 0 && !v.MayTouchAll(acl.Write) {
		return everyKey
	}
	patterns := v.Patterns()
	for j := range c.Keys {
		k := &c.Keys[j]
		first, last, step := k.Span(args)
		for i := first; i <= last; i += step {
			// No name is so long: patterns are not compared with it.
			may := (len(args[i]) <= store.MaxName || v.MayTouchAll(k.Needs())) && v.MayTouch(args[i], k.Needs())
			if s.compared(patterns) || !may {
				return i
			}
		}
	}
	return 0
}

// compared notes that a name was compared with n patterns. After many it lets others run, outside of the gate. It reports
// whether the client was killed meanwhile.
func (s *Session) compared(n int) bool {
	const many = 4096
	if s == nil || s.alone {
		return false
	}
	if s.patterns += n; s.patterns < many {
		return false
	}
	s.patterns = 0
	s.ctx.e.leave(s)
	s.ctx.GiveWay()
	return s.Ended()
}

// allowed reports whether a user may make a call of the command.
func (c *Command) allowed(s *Session, u *acl.User, args [][]byte) bool {
	why, _ := c.refused(s, u, args)
	return why == acl.Allowed
}

// permitted reports whether the user of a session may make a call, and answers it if
// not.
func (e *Engine) permitted(s *Session, c *Call, u *acl.User) bool {
	if e.Users.Guest(&s.Client) {
		if c.cmd.Flags&traits.NoAuth != 0 {
			return true
		}
		return e.reject(s, c, answer.Fail(answer.TextNoAuth))
	}
	why, at := c.cmd.refused(s, u, c.Args)
	if why == acl.Allowed {
		return true
	}
	if !s.Ended() { // else what was not found out is refused
		e.refuse(s, s.now, why, c.cmd.object(c.Args, why, at), u.Name())
	}
	return e.reject(s, c, c.cmd.denied(u, why, s.alone))
}

// bar answers the commands of a transaction that its user had no right to when EXEC
// began. What it returns notes that, if the others are run.
func (e *Engine) bar(s *Session, calls []Call) (note func()) {
	var notes []func()
	u := s.cleared
	for i := range calls {
		c := &calls[i]
		if !c.barred || s.Ended() {
			continue
		}
		cmd := e.table.resolve(c.Args)
		why, at := cmd.refused(s, u, c.Args)
		c.Answer(cmd.denied(u, why, true))
		notes = append(notes, func() {
			e.Users.Refuse(&s.Client, s.now, acl.Multi, why, cmd.object(c.Args, why, at), u.Name())
			e.notes.Counters.Of(&s.Client, cmd.index).Reject()
			e.countErrors(s, cmd, session.KindOf(c.Reply.Text), 1)
		})
	}
	return func() {
		for _, note := range notes {
			note()
		}
	}
}

// object returns what a call was refused for: the command, or a key.
func (c *Command) object(args [][]byte, why acl.Reason, at int) string {
	if why == acl.Key {
		return keyNamed(args, at)
	}
	return c.full
}

// denied returns the error of a call that a user may not make: that rights have changed, if it was allowed once.
func (c *Command) denied(u *acl.User, why acl.Reason, changed bool) answer.Reply {
	switch {
	case changed && why == acl.Key:
		return answer.Fail(textChanged + "no permission to touch the specified keys")
	case changed:
		return answer.Fail(textChanged + "no permission to execute the command or subcommand")
	case why == acl.Key:
		return answer.Fail(TextNoKey)
	}
	return answer.Fail("NOPERM User " + u.Name() + " has no permissions to run the '" + c.full + "' command")
}

// refuse notes that something was refused to a session.
func (e *Engine) refuse(s *Session, now time.Time, why acl.Reason, object, user string) {
	where := acl.TopLevel
	if s.multi || s.alone {
		where = acl.Multi
	}
	e.Users.Refuse(&s.Client, now, where, why, object, user)
}

// keyNamed returns the key at an index that refused has returned.
func keyNamed(args [][]byte, at int) string {
	if at == everyKey {
		return "*"
	}
	return string(args[at])
}

// MayAlso reports whether the user may run another command on a key, one of an item: for
// a command that does what the other does in the case at hand. It notes it if not.
func (x Names) MayAlso(command string, key []byte) bool {
	u, _ := x.who()
	if u.All() {
		return true
	}
	args := [][]byte{[]byte(command), key, nil}
	cmd := x.e.table.resolve(args)
	if cmd.allowed(nil, u, args) {
		return true
	}
	if !x.Dry() {
		x.e.refuse(x.s, x.s.now, acl.Cmd, cmd.full, u.Name())
	}
	return false
}

// Readable reports whether the user may read a name by the command that is run: KEYS
// and its like show no others.
func (x Names) Readable(name string) bool {
	u := x.s.Rights()
	if u.All() {
		return true
	}
	selectors := u.Selectors()
	for i := range selectors {
		if selectors[i].MayRun(x.s.running.index) && selectors[i].MayTouchName(name, acl.Read) {
			return true
		}
	}
	return false
}

// ReadsAll reports whether the user of a session that has run a command may read every
// name.
func (e *Engine) ReadsAll(s *Session) bool {
	u := s.Rights()
	return u.All() || slices.ContainsFunc(u.Selectors(), func(v acl.Selector) bool { return v.MayTouchAll(acl.Read) })
}
