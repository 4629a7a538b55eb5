package engine

// Users and their accounts.

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bloomery/bloomery/server/internal/acl"
)

// account is a user as sessions hold it. Its rights may change while they do; those of
// a user who was deleted are none.
type account struct {
	user    atomic.Pointer[acl.User]
	bucket  acl.Bucket
	limited atomic.Int64 // commands refused by addrate
}

// users are the users of an engine.
//
// Safe for concurrent use.
type users struct {
	rules   *acl.Commands
	file    UserFile
	first   *account // that of the user default
	trusted *account // of sessions that may do everything: see Trust
	nobody  *acl.User
	locked  atomic.Bool // the user default needs a password
	began   time.Time

	log     acl.Log
	refused refusals

	filing sync.Mutex // one at a time uses the file
	// mu guards byName.
	mu     sync.Mutex
	byName map[string]*account
}

// UserFile is the file of users.
type UserFile struct {
	Name  string // "" if there is none
	Read  func() ([]byte, error)
	Write func([]byte) error
}

// refusals counts what was refused.
type refusals struct{ auth, cmd, key, addRate atomic.Int64 }

func (r *refusals) reset() {
	for _, n := range []*atomic.Int64{&r.auth, &r.cmd, &r.key, &r.addRate} {
		n.Store(0)
	}
}

// Refusals is how often users were refused something: a login, a command, a key, and
// adds above their addrate.
type Refusals struct{ Auth, Command, Key, AddRate int64 }

func newUsers(rules *acl.Commands, password string, file UserFile) *users {
	u := &users{rules: rules, file: file, first: &account{}, trusted: &account{}, nobody: acl.NewUser(rules, ""), began: time.Now()}
	u.trusted.user.Store(acl.NewDefault(rules, ""))
	u.byName = map[string]*account{acl.Default: u.first}
	u.setDefault(acl.NewDefault(rules, password))
	return u
}

func (u *users) setDefault(next *acl.User) {
	u.first.user.Store(next)
	u.locked.Store(!next.Open())
}

// put puts a user in force. The caller holds mu.
func (u *users) put(next *acl.User) {
	if next.Name() == acl.Default {
		u.setDefault(next)
		return
	}
	a := u.byName[next.Name()]
	if a == nil {
		a = &account{}
		u.byName[next.Name()] = a
	}
	a.user.Store(next)
}

// remove takes all rights from a user. The caller holds mu.
func (u *users) remove(name string) *account {
	a := u.byName[name]
	if a != nil {
		delete(u.byName, name)
		a.user.Store(acl.NewUser(u.rules, name))
	}
	return a
}

func (u *users) find(name string) *account {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.byName[name]
}

// all returns the users in the order of their names.
func (u *users) all() []*acl.User {
	u.mu.Lock()
	defer u.mu.Unlock()
	var list []*acl.User
	for _, name := range slices.Sorted(maps.Keys(u.byName)) {
		list = append(list, u.byName[name].user.Load())
	}
	return list
}

// note counts that something was refused, and keeps it for ACL LOG.
func (u *users) note(s *Session, now time.Time, why acl.Reason, object, user string) {
	switch why {
	case acl.Auth:
		u.refused.auth.Add(1)
	case acl.Cmd:
		u.refused.cmd.Add(1)
	case acl.Key:
		u.refused.key.Add(1)
	}
	where := acl.TopLevel
	if s.multi || s.alone {
		where = acl.Multi
	}
	u.log.Add(acl.Entry{Reason: why, Context: where, Object: object, Username: user, Client: s.describe(now)}, now)
}

// user returns who runs the commands of the session.
func (s *Session) user() *acl.User { return s.who.Load().user.Load() }

// User returns the name of the user.
func (s *Session) User() string {
	if a := s.who.Load(); a != nil {
		return a.user.Load().Name()
	}
	return acl.Default
}

// Open reports whether clients need no password to be the user default.
func (e *Engine) Open() bool { return !e.users.locked.Load() }

// Guest reports whether a session must log in before it may run anything.
func (e *Engine) Guest(s *Session) bool { return !s.Authenticated && e.users.locked.Load() }

// Login makes a user that of a session, if the password is right. It takes the same
// time for every wrong one, and for a user who does not exist. ACL LOG shows by what
// it was tried: AUTH, HELLO or HTTP.
func (e *Engine) Login(s *Session, user, password []byte, by string) bool {
	a, u := e.users.find(string(user)), e.users.nobody
	if a != nil {
		u = a.user.Load()
	}
	if !u.Accepts(password) {
		e.users.note(s, e.clock(), acl.Auth, by, string(user))
		return false
	}
	s.who.Store(a)
	s.Authenticated = true
	return true
}

// logOut makes a session what it was at its beginning.
func (e *Engine) logOut(s *Session) {
	s.who.Store(e.users.first)
	s.Authenticated = e.Open()
}

// Trust gives a session all rights: whoever uses it has proven the right to them by
// other means.
func (e *Engine) Trust(s *Session) {
	s.who.Store(e.users.trusted)
	s.Authenticated = true
}

// Proven reports whether the session has logged in by a password that not everybody
// knows.
func (e *Engine) Proven(s *Session) bool {
	a := s.who.Load()
	return a != nil && s.Authenticated && !a.user.Load().NoPass()
}

// ReadUsers reads the file of users and returns what puts it in force: all of it.
// Users who are not in it any more lose their rights and their connections; the user
// default, if it is not in it, is as a server begins with it.
func (e *Engine) ReadUsers() (apply func(), err error) {
	list, err := e.users.read()
	if err != nil {
		return nil, err
	}
	return func() { e.dismiss(e.users.replace(list, e.Settings.Password()), nil) }, nil
}

// errNoUserFile means that there is no file of users.
var errNoUserFile = errors.New("there is no file of users")

func (u *users) read() ([]*acl.User, error) {
	if u.file.Name == "" {
		return nil, errNoUserFile
	}
	u.filing.Lock()
	defer u.filing.Unlock()
	data, err := u.file.Read()
	if err != nil {
		return nil, err
	}
	return acl.Parse(u.rules, u.file.Name, data)
}

// replace makes the users of a list the only ones, and the user default if it is not
// in it, and returns those who are gone.
func (u *users) replace(list []*acl.User, password string) (gone []*account) {
	u.mu.Lock()
	defer u.mu.Unlock()
	named := map[string]bool{}
	for _, next := range list {
		named[next.Name()] = true
		u.put(next)
	}
	if !named[acl.Default] {
		u.setDefault(acl.NewDefault(u.rules, password))
	}
	for name := range u.byName {
		if !named[name] && name != acl.Default {
			gone = append(gone, u.remove(name))
		}
	}
	return gone
}

// dismiss closes the connections of users who were deleted; that of the caller,
// if there is one, ends when the command is answered.
func (e *Engine) dismiss(gone []*account, caller *Session) {
	if len(gone) == 0 {
		return
	}
	for _, s := range e.host.Sessions() {
		switch {
		case !slices.Contains(gone, s.who.Load()):
		case s == caller:
			s.Quit = true
		default:
			s.Kill()
		}
	}
}

// Refusals returns how often users were refused something.
func (e *Engine) Refusals() Refusals {
	r := &e.users.refused
	return Refusals{Auth: r.auth.Load(), Command: r.cmd.Load(), Key: r.key.Load(), AddRate: r.addRate.Load()}
}

// Limited calls f with every user who has an addrate, in the order of their names,
// and how many commands it has refused.
func (e *Engine) Limited(f func(user string, refused int64)) {
	for _, u := range e.users.all() {
		if a := e.users.find(u.Name()); a != nil && u.AddRate() > 0 {
			f(u.Name(), a.limited.Load())
		}
	}
}

// charge answers a call that adds n items if its user may not add so many now.
func (e *Engine) charge(s *Session, c *Call, n int) {
	if text := e.spend(s, n); text != "" {
		c.Fail(text)
	}
}

// spend takes n items from what the user of a session may add. It returns the error
// text if they are too many, "" otherwise.
func (e *Engine) spend(s *Session, n int) string {
	a := s.who.Load()
	u := a.user.Load()
	rate := u.AddRate()
	if rate == 0 || n <= 0 {
		return ""
	}
	wait, ok := a.bucket.Take(time.Since(e.users.began), rate, n)
	if ok {
		return ""
	}
	a.limited.Add(1)
	e.users.refused.addRate.Add(1)
	text := fmt.Sprintf("LIMIT user '%s' may add %d items a second (addrate): ", clip([]byte(u.Name())), rate)
	if wait == 0 {
		return text + fmt.Sprintf("this command has %d; send them in several", n)
	}
	return text + fmt.Sprintf("try again in %d ms", (wait+time.Millisecond-1)/time.Millisecond)
}
