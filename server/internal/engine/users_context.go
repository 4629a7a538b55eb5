package engine

// Users as the ACL commands see them.

import "github.com/bloomery/bloomery/server/internal/acl"

// Authenticate makes a user that of the session, if the password is right. by is the
// name of the command, for ACL LOG.
func (x *Context) Authenticate(user, password []byte, by string) bool {
	return x.e.Login(x.s, user, password, by)
}

// DefaultNeedsNone reports whether every password is right for the user default.
func (x *Context) DefaultNeedsNone() bool { return x.e.users.first.user.Load().NoPass() }

// Guest reports whether the session must log in before it may run anything.
func (x *Context) Guest() bool { return x.e.Guest(x.s) }

// Users returns the users in the order of their names.
func (x *Context) Users() []*acl.User { return x.e.users.all() }

// UserNamed returns a user, nil if there is none of that name.
func (x *Context) UserNamed(name string) *acl.User {
	if a := x.e.users.find(name); a != nil {
		return a.user.Load()
	}
	return nil
}

// SetUser puts rules in force for a user, which is created if it is not there. On an
// error nothing changes.
func (x *Context) SetUser(name string, rules []string) error {
	if err := acl.CheckName(name); err != nil {
		return err
	}
	if err := acl.CheckSize(rules); err != nil {
		return err
	}
	u := x.e.users
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
func (x *Context) SetPassword(password string) {
	u := x.e.users
	u.mu.Lock()
	defer u.mu.Unlock()
	x.e.Settings.setPassword(password)
	u.setDefault(u.first.user.Load().WithPassword(password))
}

// DeleteUsers deletes users, closes their connections, and returns how many there
// were. The connection of the caller ends when the command is answered.
func (x *Context) DeleteUsers(names [][]byte) int {
	var gone []*account
	u := x.e.users
	u.mu.Lock()
	for _, name := range names {
		if a := u.remove(string(name)); a != nil {
			gone = append(gone, a)
		}
	}
	u.mu.Unlock()
	x.e.dismiss(gone, x.s)
	return len(gone)
}

// UserFile returns the name of the file of users, "" if there is none.
func (x *Context) UserFile() string { return x.e.users.file.Name }

// LoadUsers reads the file of users and puts it in force, as ReadUsers of Engine does.
// It takes long.
func (x *Context) LoadUsers() error {
	x.e.gate.watch.waits(x.s, "read the file of users")
	list, err := x.e.users.read()
	if err == nil {
		x.e.dismiss(x.e.users.replace(list, x.e.Settings.Password()), x.s)
	}
	return err
}

// SaveUsers writes the file of users. It takes long.
func (x *Context) SaveUsers() error {
	u := x.e.users
	if u.file.Name == "" {
		return errNoUserFile
	}
	x.e.gate.watch.waits(x.s, "write the file of users")
	u.filing.Lock()
	defer u.filing.Unlock()
	return u.file.Write(acl.Format(u.all()))
}

// ACLLog returns what users were refused lately.
func (x *Context) ACLLog() *acl.Log { return &x.e.users.log }

// Refusals returns how often users were refused something.
func (x *Context) Refusals() Refusals { return x.e.Refusals() }

// Spend takes n items from what the user may add. It returns the error text if they
// are too many, "" otherwise.
func (x *Context) Spend(n int) string { return x.e.spend(x.s, n) }
