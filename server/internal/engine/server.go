package engine

// Server: the server and its clients, for the commands of operators.

import (
	"strings"

	"github.com/bloomery/bloomery/server/internal/acl"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/control"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/session"
	"github.com/bloomery/bloomery/server/internal/status"
)

// Shutdown has the server end in order, and the session of the client with it.
func (x Server) Shutdown() {
	x.s.Quit = true
	x.e.host.Shutdown()
}

// Facts returns what is known of the process and its connections.
func (x Server) Facts() status.Server { return x.e.facts() }

// Notes returns what is noted of what clients do.
func (x Server) Notes() *session.Notes { return &x.e.notes }

// Disk returns the disk that data is kept on.
func (x Server) Disk() control.Disk { return control.NewDisk(x.e.keep, x.Waits) }

// Cluster returns the cluster that the server belongs to.
func (x Server) Cluster() control.Cluster { return control.NewCluster(x.e.shared, x.Waits) }

// OwnCopy has a copy of all data end with the connection of the client: nobody else reads it.
func (x Server) OwnCopy(number uint64) { x.s.copies = append(x.s.copies, number) }

// uncopy gives up what a client has had copied, and may not have read: it was killed, say.
func (e *Engine) uncopy(s *Session) {
	if copier, ok := e.shared.(door.Copier); ok {
		for _, number := range s.copies {
			copier.CloseCopy(number)
		}
	}
	s.copies = nil
}

// Rebuilds returns the names of filters that are being rebuilt, or will be made so.
func (x Server) Rebuilds() []string { return x.e.state.Rebuilding() }

// Usage returns how a command was used.
func (x Server) Usage(c *Command) session.Usage { return x.e.notes.Counters.Sum(c.index) }

// Errors returns the error replies to clients, in the order of their kinds.
func (x Server) Errors() []Errors { return x.e.Errors() }

// RewriteConfig writes the settings that were changed into the configuration file.
// It takes long.
func (x Server) RewriteConfig() error {
	x.Waits("write the configuration file")
	return x.e.host.RewriteConfig()
}

// Peers calls f for every client.
func (x Server) Peers(f func(*session.Client)) {
	x.s.Last.Store(&x.s.running.full)
	for _, s := range x.e.host.Sessions() {
		f(&s.Client)
	}
}

// Pause returns what holds commands of clients back.
func (x Server) Pause() *session.Pause { return &x.e.Pause }

// Monitor makes the client see all commands. It reports false if there is no
// memory for that.
func (x Server) Monitor() bool {
	if x.s.Monitor() != nil {
		return true
	}
	if !x.e.Hold(x.s, session.MonitorBytes) {
		x.e.Hold(x.s, -session.MonitorBytes)
		return false
	}
	x.e.notes.Monitors.Add(&x.s.Client)
	return true
}

// Describe returns the line of CLIENT LIST of the client itself.
func (x Server) Describe() string {
	x.s.Last.Store(&x.s.running.full) // as in Redis, it is this one
	return x.s.Describe(x.s.now)
}

// LoadUsers reads the file of users and puts it in force, as ReadUsers of Engine does.
// It takes long.
func (x Server) LoadUsers() error {
	x.Waits("read the file of users")
	list, err := x.e.Users.Read()
	if err == nil {
		x.e.dismiss(x.e.Users.Replace(list, x.e.Settings.Password()), x.s)
	}
	return err
}

// DeleteUsers deletes users, closes their connections, and returns how many there
// were. The connection of the caller ends when the command is answered.
func (x Server) DeleteUsers(names [][]byte) int {
	gone := x.e.Users.Delete(names)
	x.e.dismiss(gone, x.s)
	return len(gone)
}

// DryRun returns what a user would be refused, as ACL DRYRUN words it, "" if nothing.
// The error is that of a call that nobody can make.
func (x Server) DryRun(u *acl.User, args [][]byte) (text string, failed answer.Reply) {
	cmd := x.e.table.resolve(args)
	switch {
	case cmd == nil:
		return "", answer.Fail("ERR Command '" + answer.Clip(args[0]) + "' not found")
	case !cmd.Takes(len(args)):
		return "", answer.WrongArity(cmd.full)
	}
	why, at := cmd.refused(x.s, u, args)
	switch why {
	case acl.Allowed:
		if cmd.Also == nil {
			return "", answer.Reply{}
		}
		c := Call{Args: args, cmd: cmd}
		cmd.Also(&Context{e: x.e, s: x.s, as: u, cmd: cmd}, &c)
		text, denied := strings.CutPrefix(c.Reply.Text, "NOPERM ")
		if !denied {
			return "", answer.Reply{}
		}
		return text, answer.Reply{}
	case acl.Key:
		return "User " + u.Name() + " has no permissions to access the '" + keyNamed(args, at) + "' key", answer.Reply{}
	}
	return "User " + u.Name() + " has no permissions to run the '" + cmd.full + "' command", answer.Reply{}
}

// ReadsAll reports whether the user may read every name.
func (x Server) ReadsAll() bool { return x.e.ReadsAll(x.s) }
