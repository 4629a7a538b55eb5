package engine

// Server: the server and its clients, for the commands of operators.

import (
	"errors"
	"strings"

	"github.com/bloomery/bloomery/server/internal/acl"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/refusal"
	"github.com/bloomery/bloomery/server/internal/session"
	"github.com/bloomery/bloomery/server/internal/status"
)

// Shutdown has the server end in order, and the session of the client with it.
func (x Server) Shutdown() {
	x.s.Quit = true
	x.e.host.Shutdown()
}

// Facts returns what only the server knows.
func (x Server) Facts() status.Server { return x.e.host.Facts() }

// SlowLog returns the log of commands that took long.
func (x Server) SlowLog() *session.SlowLog { return &x.e.slow }

// Latency returns what is noted of commands that took long.
func (x Server) Latency() *session.Latency { return &x.e.late }

// Pace returns how many commands are run in a second at present.
func (x Server) Pace() int64 { return x.e.pace.PerSecond() }

// RunID returns 40 digits that stand for this run of the server.
func (x Server) RunID() string { return x.e.runID }

// Counters returns what is counted of commands and names.
func (x Server) Counters() *session.Counters { return x.e.stats }

// Usage returns how a command was used.
func (x Server) Usage(c *Command) session.Usage { return x.e.stats.Sum(c.index) }

// ResetUsage begins to count again.
func (x Server) ResetUsage() {
	x.e.stats.Reset()
	x.e.pace.Reset()
	x.e.Users.ResetRefusals()
}

// Disk returns how data is kept on disk.
func (x Server) Disk() (d status.Disk) {
	if x.e.keep != nil {
		d = x.e.keep.Status()
	}
	return d
}

// SetFsync changes when writes are durable, as CONFIG SET appendfsync names it.
func (x Server) SetFsync(mode string) error { return x.e.keep.SetFsync(mode) }

// RewriteConfig writes the settings that were changed into the configuration file.
// It takes long.
func (x Server) RewriteConfig() error {
	x.Waits("write the configuration file")
	return x.e.host.RewriteConfig()
}

// Save writes all data to disk and returns the answer. It takes long.
func (x Server) Save() answer.Reply {
	x.Waits("snapshot")
	return saved(x.e.keep.Snapshot(), answer.OK())
}

// SaveSoon is Save in the background.
func (x Server) SaveSoon() answer.Reply {
	return saved(x.e.keep.StartSnapshot(), answer.Word("Background saving started"))
}

// Verify is Save that then reads everything back and checks it.
func (x Server) Verify() answer.Reply {
	x.Waits("verify")
	err := x.e.keep.Snapshot()
	if err == nil {
		err = x.e.keep.Verify()
	}
	return saved(err, answer.OK())
}

func saved(err error, ok answer.Reply) answer.Reply {
	switch {
	case err == nil:
		return ok
	case errors.Is(err, status.ErrSaving):
		return answer.Fail("ERR Background save already in progress")
	}
	return answer.Fail("ERR " + answer.OneLine(err))
}

// SetMaxMemory changes the bound of the budget.
func (x Server) SetMaxMemory(n int64) {
	x.e.Budget.SetMax(n)
	if x.e.memoryLimit != nil {
		x.e.memoryLimit(n)
	}
}

// DataBytes returns the memory that names and contents take.
func (x Server) DataBytes() int64 { return x.e.state.Bytes() }

// Peers calls f for every client.
func (x Server) Peers(f func(*session.Client)) {
	x.s.Last.Store(&x.s.running.full)
	for _, s := range x.e.host.Sessions() {
		f(&s.Client)
	}
}

// Kill closes the connection of a client, when the present command is answered if it is
// the caller's own. It does not wait.
func (x Server) Kill(c *session.Client) {
	if c == &x.s.Client {
		c.Quit = true
		return
	}
	c.Kill()
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
	x.e.monitors.Add(&x.s.Client)
	return true
}

// Describe returns the line of CLIENT LIST of the client itself.
func (x Server) Describe() string {
	x.s.Last.Store(&x.s.running.full) // as in Redis, it is this one
	return x.s.Describe(x.s.now)
}

// Cluster describes the cluster. It reports false if there is none.
func (x Server) Cluster() (status.Cluster, bool) { return x.e.Cluster() }

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
	why, at := cmd.refused(u, args)
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

// TextNoCluster is the error of commands that are about a cluster, where there is none.
const TextNoCluster = "ERR This instance has cluster support disabled"

// Forget removes a node for ever.
func (x Server) Forget(node uint32) answer.Reply {
	members, ok := x.e.shared.(door.Members)
	if !ok {
		return answer.Fail(TextNoCluster)
	}
	return changed(members.Remove(node), answer.OK)
}

// ReplaceLog has a node keep the log in the place of another: the next step of that.
func (x Server) ReplaceLog(old, with uint32) answer.Reply {
	members, ok := x.e.shared.(door.Members)
	if !ok {
		return answer.Fail(TextNoCluster)
	}
	step, done, err := members.Replace(old, with)
	return changed(err, func() answer.Reply { return answer.List(answer.Flag(done), answer.Text(step)) })
}

// Upgrade allows what all nodes can do by now.
func (x Server) Upgrade() answer.Reply {
	members, ok := x.e.shared.(door.Members)
	if !ok {
		return answer.Fail(TextNoCluster)
	}
	level, err := members.Upgrade()
	return changed(err, func() answer.Reply { return answer.Integer(int64(level)) })
}

// changed answers a change of the cluster, which was not made if there is an error, or may
// not have been.
func changed(err error, made func() answer.Reply) answer.Reply {
	if err == nil {
		return made()
	}
	text := refusal.Cause(err)
	switch {
	case errors.Is(err, door.ErrNotYet):
		return answer.Fail("TRYAGAIN nothing was changed: " + text)
	case errors.Is(err, door.ErrUnknown):
		return answer.Fail("UNKNOWN the change may have been made or not: send the command again (" + text + ")")
	case errors.Is(err, door.ErrRefused):
		return answer.Fail("CLUSTERDOWN nothing was changed (" + text + ")")
	}
	return answer.Fail("ERR " + text)
}

// OpenCopy makes a copy of all data of a cluster and answers its number and its files.
// With stale it is what this node has, whatever others have acknowledged. It takes long.
func (x Server) OpenCopy(stale bool) answer.Reply {
	copier, ok := x.e.shared.(door.Copier)
	if !ok {
		return answer.Fail(TextNoCluster)
	}
	x.Waits("copy of all data")
	number, files, err := copier.OpenCopy(stale)
	switch {
	case errors.Is(err, door.ErrRefused) || errors.Is(err, door.ErrUnknown):
		return answer.Fail("CLUSTERDOWN This node cannot find out what other nodes have acknowledged (" + refusal.Cause(err) + ")")
	case err != nil:
		return answer.Fail("ERR " + answer.OneLine(err))
	}
	rows := make([]answer.Reply, len(files))
	for i, f := range files {
		rows[i] = answer.List(answer.Text(f.Name), answer.Integer(f.Size))
	}
	return answer.List(answer.Integer(int64(number)), answer.List(rows...))
}

// ReadCopy answers a piece of a file of a copy.
func (x Server) ReadCopy(number, file, offset, length uint64) answer.Reply {
	copier, ok := x.e.shared.(door.Copier)
	if !ok {
		return answer.Fail(TextNoCluster)
	}
	piece, err := copier.ReadCopy(number, file, offset, length)
	if err != nil {
		return answer.Fail("ERR " + answer.OneLine(err))
	}
	return answer.Text(string(piece))
}

// CloseCopy gives a copy up.
func (x Server) CloseCopy(number uint64) answer.Reply {
	copier, ok := x.e.shared.(door.Copier)
	if !ok {
		return answer.Fail(TextNoCluster)
	}
	copier.CloseCopy(number)
	return answer.OK()
}
