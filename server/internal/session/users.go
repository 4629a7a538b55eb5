package session

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

// account is a user as clients hold it. Its rights may change while they do; those of
// a user who was deleted are none.
type account struct {
	user    atomic.Pointer[acl.User]
	bucket  acl.Bucket
	limited atomic.Int64 // commands refused by addrate
}

// Users are the users of a server. Make it with NewUsers.
//
// Safe for concurrent use.
type Users struct {
	rules   *acl.Commands
	file    UserFile
	first   *account // that of the user default
	trusted *account // of clients that may do everything: see Trust
	nobody  *acl.User
	locked  atomic.Bool // the user default needs a password
	began   time.Time

	// Log is what users were refused lately.
	Log     acl.Log
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

// NewUsers returns the users that a server begins with: the user default with a password,
// "" for none.
func NewUsers(rules *acl.Commands, password string, file UserFile) *Users {
	u := &Users{rules: rules, file: file, first: &account{}, trusted: &account{}, nobody: acl.NewUser(rules, ""), began: time.Now()}
	u.trusted.user.Store(acl.NewDefault(rules, ""))
	u.byName = map[string]*account{acl.Default: u.first}
	u.setDefault(acl.NewDefault(rules, password))
	return u
}

func (u *Users) setDefault(next *acl.User) {
	u.first.user.Store(next)
	u.locked.Store(!next.Open())
}

// put puts a user in force. The caller holds mu.
func (u *Users) put(next *acl.User) {
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
func (u *Users) remove(name string) *account {
	a := u.byName[name]
	if a != nil {
		delete(u.byName, name)
		a.user.Store(acl.NewUser(u.rules, name))
	}
	return a
}

func (u *Users) find(name string) *account {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.byName[name]
}

// All returns the users in the order of their names.
func (u *Users) All() []*acl.User {
	u.mu.Lock()
	defer u.mu.Unlock()
	var list []*acl.User
	for _, name := range slices.Sorted(maps.Keys(u.byName)) {
		list = append(list, u.byName[name].user.Load())
	}
	return list
}

// Refuse counts that something was refused to a client, and keeps it for ACL LOG. where is
// acl.TopLevel or acl.Multi.
func (u *Users) Refuse(c *Client, now time.Time, where string, why acl.Reason, object, user string) {
	switch why {
	case acl.Auth:
		u.refused.auth.Add(1)
	case acl.Cmd:
		u.refused.cmd.Add(1)
	case acl.Key:
		u.refused.key.Add(1)
	}
	u.Log.Add(acl.Entry{Reason: why, Context: where, Object: object, Username: user, Client: c.Describe(now)}, now)
}

// Greet makes a client that of the user default, unless it is somebody already.
func (u *Users) Greet(c *Client) {
	if c.who.Load() == nil {
		c.who.Store(u.first)
	}
}

// Open reports whether clients need no password to be the user default.
func (u *Users) Open() bool { return !u.locked.Load() }

// Opens reports whether the users of a list, in the place of those of now, would let clients in
// that need a password now.
func (u *Users) Opens(list []*acl.User, password string) bool {
	for _, next := range list {
		if next.Name() == acl.Default {
			return next.Open() && !u.Open()
		}
	}
	return password == "" && !u.Open()
}

// DefaultNeedsNone reports whether every password is right for the user default.
func (u *Users) DefaultNeedsNone() bool { return u.first.user.Load().NoPass() }

// Guest reports whether a client must log in before it may run anything.
func (u *Users) Guest(c *Client) bool { return !c.Authenticated && u.locked.Load() }

// Login makes a user that of a client, if the password is right. It takes the same
// time for every wrong one, and for a user who does not exist.
func (u *Users) Login(c *Client, user, password []byte) bool {
	a, who := u.find(string(user)), u.nobody
	if a != nil {
		who = a.user.Load()
	}
	if !who.Accepts(password) {
		return false
	}
	c.who.Store(a)
	c.Authenticated = true
	return true
}

// LogOut makes a client what it was at its beginning.
func (u *Users) LogOut(c *Client) {
	c.who.Store(u.first)
	c.Authenticated = u.Open()
}

// Trust gives a client all rights: whoever uses it has proven the right to them by
// other means.
func (u *Users) Trust(c *Client) {
	c.who.Store(u.trusted)
	c.Authenticated = true
}

// Proven reports whether the client has logged in by a password that not everybody
// knows.
func (u *Users) Proven(c *Client) bool {
	a := c.who.Load()
	return a != nil && c.Authenticated && !a.user.Load().NoPass()
}

// Named returns a user, nil if there is none of that name.
func (u *Users) Named(name string) *acl.User {
	if a := u.find(name); a != nil {
		return a.user.Load()
	}
	return nil
}

// Set puts rules in force for a user, which is created if it is not there. On an
// error nothing changes.
func (u *Users) Set(name string, rules []string) error {
	if err := acl.CheckName(name); err != nil {
		return err
	}
	if err := acl.CheckSize(rules); err != nil {
		return err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	old := acl.NewUser(u.rules, name)
	if a := u.byName[name]; a != nil {
		old = a.user.Load()
	}
	next, err := old.With(u.rules, rules...)
	if err == nil {
		u.put(next)
	}
	return err
}

// SetPassword makes a password that of the user default and no other, "" for none, as
// the setting requirepass does.
func (u *Users) SetPassword(s *Settings, password string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	s.password.Store(&password)
	u.setDefault(u.first.user.Load().WithPassword(password))
}

// Gone is users who were deleted.
type Gone []*account

// Has reports whether a client is one of them.
func (g Gone) Has(c *Client) bool { return slices.Contains(g, c.who.Load()) }

// Delete deletes users and returns those that there were.
func (u *Users) Delete(names [][]byte) (gone Gone) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, name := range names {
		if a := u.remove(string(name)); a != nil {
			gone = append(gone, a)
		}
	}
	return gone
}

// errNoUserFile means that there is no file of users.
var errNoUserFile = errors.New("there is no file of users")

// File returns the name of the file of users, "" if there is none.
func (u *Users) File() string { return u.file.Name }

// Save writes the file of users. It takes long.
func (u *Users) Save() error {
	if u.file.Name == "" {
		return errNoUserFile
	}
	u.filing.Lock()
	defer u.filing.Unlock()
	return u.file.Write(acl.Format(u.All()))
}

// Read reads the file of users. It takes long.
func (u *Users) Read() ([]*acl.User, error) {
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

// Replace makes the users of a list the only ones, and returns those who are gone. The
// user default, if it is not in it, is as a server begins with it, with a password.
func (u *Users) Replace(list []*acl.User, password string) (gone Gone) {
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

// Refusals returns how often users were refused something.
func (u *Users) Refusals() Refusals {
	r := &u.refused
	return Refusals{Auth: r.auth.Load(), Command: r.cmd.Load(), Key: r.key.Load(), AddRate: r.addRate.Load()}
}

// Limited calls f with every user who has an addrate, in the order of their names,
// and how many commands it has refused.
func (u *Users) Limited(f func(user string, refused int64)) {
	for _, who := range u.All() {
		if a := u.find(who.Name()); a != nil && who.AddRate() > 0 {
			f(who.Name(), a.limited.Load())
		}
	}
}

// ResetRefusals begins to count again.
func (u *Users) ResetRefusals() { u.refused.reset() }

// Spend takes n items from what the user of a client may add. It returns the error
// text if they are too many, "" otherwise.
func (u *Users) Spend(c *Client, n int) string {
	a := c.who.Load()
	who := a.user.Load()
	rate := who.AddRate()
	if rate == 0 || n <= 0 {
		return ""
	}
	wait, ok := a.bucket.Take(time.Since(u.began), rate, n)
	if ok {
		return ""
	}
	a.limited.Add(1)
	u.refused.addRate.Add(1)
	name := who.Name()
	text := fmt.Sprintf("LIMIT user '%s' may add %d items a second (addrate): ", name[:min(len(name), 128)], rate)
	if wait == 0 {
		return text + fmt.Sprintf("this command has %d; send them in several", n)
	}
	return text + fmt.Sprintf("try again in %d ms", (wait+time.Millisecond-1)/time.Millisecond)
}
