package engine

// What the server counts, for those who watch it.

import (
	"github.com/bloomery/bloomery/server/internal/session"
	"github.com/bloomery/bloomery/server/internal/status"
)

// Figures is what a server counts, at one moment: what is shown to those who watch
// it.
type Figures struct {
	status.Server
	// Status is how data is kept on disk; Refused is why writes are refused, nil
	// if they are not.
	status.Disk
	Refused error

	Used        int64 // bytes of the budget
	Peak        int64
	Max         int64
	Data        int64 // of Used: names and contents
	ClientBytes int64 // of Used: what clients have under way
	Mapped      int64 // bytes of arrays outside of Go's heap

	Names   int
	Timed   int // of Names: those with a deadline
	Expired int64
	Hits    int64 // names that reads have found
	Misses  int64
}

// Figures returns what the server counts.
func (e *Engine) Figures() Figures {
	f := Figures{
		Server: e.facts(), Refused: e.door.Refuses(),
		Used: e.Budget.Used(), Peak: e.Budget.Peak(), Max: e.Budget.Max(), ClientBytes: e.Budget.Clients(),
		Data: e.state.Bytes(), Mapped: e.state.Mapped(),
		Names: e.state.Names.Len(), Timed: e.state.Names.Timed(), Expired: e.notes.Counters.Expired.Load(),
	}
	f.Hits, f.Misses = e.notes.Counters.Found()
	if e.keep != nil {
		f.Disk = e.keep.Status()
	}
	return f
}

// facts returns what is known of the process and its connections.
func (e *Engine) facts() status.Server {
	f := e.host.Facts()
	f.RunID, f.MaxClients = e.runID, int(e.Settings.MaxClients.Load())
	f.Blocked = e.Pause.Waiting() + e.waiting.clients()
	return f
}

// Usages passes every command and subcommand that was called to visit, and how it was
// used.
func (e *Engine) Usages(visit func(name string, u *session.Usage)) {
	e.table.Walk(func(c *Command) {
		if u := e.notes.Counters.Sum(c.index); u.Calls > 0 || u.Rejected > 0 {
			visit(c.full, &u)
		}
	})
}

// Errors are the error replies of a kind.
type Errors struct {
	Kind  string
	Count int64
	By    []ErrorsBy // the commands with the most of them
}

// ErrorsBy are those that one command has answered; Command is "" if there is no such command.
type ErrorsBy struct {
	Command string
	Count   int64
}

// mostErrorsBy is how many commands are named with a kind of errors.
const mostErrorsBy = 8

// Errors returns the error replies to clients, in the order of their kinds.
func (e *Engine) Errors() (list []Errors) {
	names := map[int]string{}
	e.table.Walk(func(c *Command) { names[c.index] = c.full })
	for _, v := range e.notes.Counters.Errors() {
		if len(list) == 0 || list[len(list)-1].Kind != v.Kind {
			list = append(list, Errors{Kind: v.Kind})
		}
		last := &list[len(list)-1]
		if last.Count += v.Count; len(last.By) < mostErrorsBy {
			last.By = append(last.By, ErrorsBy{names[v.Command], v.Count})
		}
	}
	return list
}

// NamesOf returns the names of entries by their ids, without those that are gone, have
// no name yet or are past their deadline.
func (e *Engine) NamesOf(ids []uint64) map[uint64]string {
	now := e.clock().UnixMilli()
	names := make(map[uint64]string, len(ids))
	e.state.Names.Lock()
	defer e.state.Names.Unlock()
	for _, id := range ids {
		if entry := e.state.Names.ByID(id); entry != nil && !entry.Expired(now) {
			names[id] = entry.Name()
		}
	}
	return names
}
