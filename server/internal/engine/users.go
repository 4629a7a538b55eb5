package engine

// What the engine does about users.

import (
	"github.com/bloomery/bloomery/server/internal/acl"
	"github.com/bloomery/bloomery/server/internal/session"
)

// Users returns the users.
func (x *Context) Users() *session.Users { return x.e.Users }

// Login makes a user that of a session, if the password is right. ACL LOG shows by what
// it was tried otherwise: AUTH, HELLO or HTTP.
func (e *Engine) Login(s *Session, user, password []byte, by string) bool {
	ok := e.Users.Login(&s.Client, user, password)
	if !ok {
		e.refuse(s, e.clock(), acl.Auth, by, string(user))
	}
	return ok
}

// Login makes a user that of the session, as Login of Engine does.
func (x *Context) Login(user, password []byte, by string) bool {
	return x.e.Login(x.s, user, password, by)
}

// ReadUsers reads the file of users and returns what puts it in force: all of it.
// Users who are not in it any more lose their rights and their connections; the user
// default, if it is not in it, is as a server begins with it. It reports whether that lets
// clients in that need a password now.
func (e *Engine) ReadUsers() (apply func(), opens bool, err error) {
	list, err := e.Users.Read()
	if err != nil {
		return nil, false, err
	}
	return func() { e.dismiss(e.Users.Replace(list, e.Settings.Password()), nil) }, e.Users.Opens(list, e.Settings.Password()), nil
}

// dismiss closes the connections of users who were deleted; that of the caller,
// if there is one, ends when the command is answered.
func (e *Engine) dismiss(gone session.Gone, caller *Session) {
	if len(gone) == 0 {
		return
	}
	for _, s := range e.host.Sessions() {
		switch {
		case !gone.Has(&s.Client):
		case s == caller:
			s.Quit = true
		default:
			s.Kill()
		}
	}
}

// charge answers a call that adds n items if its user may not add so many now.
func (e *Engine) charge(s *Session, c *Call, n int) {
	if text := e.Users.Spend(&s.Client, n); text != "" {
		c.Fail(text)
	}
}
