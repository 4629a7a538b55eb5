// Package engine runs commands. It knows none of them: a [Table] says what there
// is, and a [Command] how it is run.
//
//	Exec ── run ── step ─┬─ runBundle  calls on one filter or sketch that follow each other
//	                     └─ perform    any other call
//	                          │
//	                 Prepare ─► door.Do ─► settle ─► Reply
//
// [Engine.Exec] takes all that a connection has sent. Calls that follow each
// other on one filter are hashed together and make one record, which takes one
// lock. Records are put in order by a door; those that it has not applied yet are
// waited for once, at the end, or before a call that looks at what they change.
// Everything that looks at data or changes it runs inside the gate, which a
// transaction closes; nothing waits inside.
//
// Handlers see a [Context]: clock, settings, who talks; and through it [Names],
// [Contents], [Transaction] and [Server]. They never see the door or the gate. Commands
// return values of package answer and know nothing of protocols.
//
// Locks, in the order in which they are taken: gate, catalogue, part, log;
// shards of the catalogue come last, nothing is called under them. Settings, users,
// slow log and session names have locks of their own, under which nothing else is
// taken, but that of users under that of settings: requirepass is the password of
// the user default.
package engine

import (
	"crypto/rand"
	"encoding/hex"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bloomery/bloomery/server/internal/budget"
	"github.com/bloomery/bloomery/server/internal/checkup"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/gate"
	"github.com/bloomery/bloomery/server/internal/health"
	"github.com/bloomery/bloomery/server/internal/session"
	"github.com/bloomery/bloomery/server/internal/status"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/sweep"
)

// Host is the server as commands see it.
type Host interface {
	// Sessions returns the sessions of all clients.
	Sessions() []*Session
	// Facts returns what INFO shows of the server.
	Facts() status.Server
	// Shutdown has the server end in order. It does not wait.
	Shutdown()
	// RewriteConfig writes the settings that were changed into the
	// configuration file.
	RewriteConfig() error
}

// Engine runs commands. Make it with New.
//
// Safe for concurrent use, each Session and Workspace by one goroutine at a
// time.
type Engine struct {
	Settings *session.Settings
	Budget   budget.Budget
	Users    *session.Users
	Pause    session.Pause

	state *store.State
	door  door.Door
	// shared is the door if other machines write, too; nil if not.
	shared door.Shared
	// router is shared if machines run commands for each other; nil if not.
	router  door.Router
	can     status.Abilities
	keep    door.Keeper
	host    Host
	clock   func() time.Time
	steady  bool // clock is that of the machine
	table   *Table
	notes   session.Notes
	well    *health.Keeper
	filters checkup.Filters
	runID   string
	gate    gate.Gate

	secrets atomic.Pointer[secrets]
	sweeper sweep.Sweeper
	helpers sync.Pool // of *helper
	helped  atomic.Int64
	ends    atomic.Bool // see Ends
	grants  grants
	ended   ended
	waiting waiters
	asking  chan struct{} // see mostAsked

	collect func(int)
}

// Config is what an Engine is made from.
type Config struct {
	// Commands is what the engine can do.
	Commands []Command
	State    *store.State
	Door     door.Door
	// Keeper writes data to disk; nil means that there is none.
	Keeper   door.Keeper
	Host     Host
	Settings *session.Settings // nil means the defaults
	// Clock returns the time; nil means time.Now.
	Clock func() time.Time
	// MaxMemory bounds the memory of data, in bytes.
	MaxMemory int64
	// SetMaxMemory is called when CONFIG SET has changed the bound; nil if
	// nobody needs to know.
	SetMaxMemory func(int64)
	// Plain leaves clients untold that this is a cluster, if it is one.
	Plain bool
	// Users is the file that ACL LOAD and ACL SAVE use. The zero value means that
	// there is none.
	Users session.UserFile
	// SecretNames are for SetSecretNames.
	SecretNames map[string][]string
	// Collect is called before so many bytes are allocated at once for a
	// string; nil if nobody needs to know.
	Collect func(bytes int)
}

// New returns an engine.
func New(c Config) *Engine {
	e := &Engine{
		Settings: c.Settings, state: c.State, door: c.Door, keep: c.Keeper, host: c.Host, clock: c.Clock,
		table: NewTable(c.Commands), collect: c.Collect,
	}
	if e.clock == nil {
		e.clock, e.steady = time.Now, true
	}
	if e.collect == nil {
		e.collect = func(int) {}
	}
	if e.Settings == nil {
		e.Settings = session.NewSettings(session.RedisBloomDefaults(), "")
	}
	e.shared, _ = c.Door.(door.Shared)
	e.can = status.Abilities{Cluster: e.shared != nil, Hidden: c.Plain, Disk: c.Keeper != nil && c.Keeper.Status().Kept, Keys: c.State, Shadows: c.State}
	e.notes.Counters = session.NewCounters(e.table.count)
	e.Users = session.NewUsers(e.table.rules, e.Settings.Password(), c.Users)
	e.runID = newRunID()
	e.SetSecretNames(c.SecretNames)
	e.filters = checkup.Filters{State: c.State, Clock: e.clock, Can: e.can}
	e.well = e.filters.Keeper()
	c.State.OnClear(e.well.Clear)
	e.waiting.kick = make(chan struct{}, 1)
	c.State.OnNews(e.waiting.happened)
	e.sweeper = sweep.Sweeper{
		State: c.State, Door: c.Door, Shared: e.shared, Gate: &e.gate, Pause: &e.Pause, Expired: &e.notes.Counters.Expired, Clock: e.clock,
	}
	e.Budget.Init(c.State, c.MaxMemory, e.can.Cluster, c.SetMaxMemory)
	c.State.SetMemory(&e.Budget)
	e.asking = make(chan struct{}, mostAsked)
	if e.router, _ = c.Door.(door.Router); e.router != nil {
		e.router.OnQuestion(e.help)
	}
	return e
}

// Sample notes how many commands were run so far. The server calls it about ten
// times a second.
func (e *Engine) Sample(at time.Time) {
	e.Budget.Used() // notes the peak
	if e.state.Names.Len() > 0 {
		e.well.Poke()
	}
	e.notes.Pace.Sample(at, e.notes.Counters.Calls())
}

// Sweep removes what is past its deadline, at most so many entries, and returns
// how many it found.
func (e *Engine) Sweep(most int) int {
	e.forgetNews()
	return e.sweeper.Sweep(most)
}

// newRunID returns 40 digits that no other run of a server has.
func newRunID() string {
	var b [20]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}
