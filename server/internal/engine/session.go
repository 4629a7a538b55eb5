package engine

// Session: a client, and what it runs.

import (
	"sync/atomic"
	"time"

	"github.com/bloomery/bloomery/server/internal/acl"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/session"
	"github.com/bloomery/bloomery/server/internal/staging"
)

// Session is a client, and what the engine knows of what it runs. Make it with
// NewSession.
//
// It belongs to the goroutine that runs its commands.
type Session struct {
	session.Client

	multi       bool
	multiFailed bool
	queuedWrite bool // a command of the queue writes
	queue       [][][]byte
	queuedBytes int
	queuedWords int
	cleared     *acl.User // with these rights EXEC has found out what may be done
	patterns    int       // that names were compared with since others could run
	watches     map[string]watched
	watchBytes  int
	// watchedParts is what EXEC looks at to find out whether they have changed, in units of a key.
	watchedParts int
	replyBytes   int // held for replies that are not written yet

	ctx     Context
	w       *Workspace
	now     time.Time
	ms      int64
	inside  bool             // the gate
	weight  int              // of what was run inside since entering
	alone   bool             // the gate is closed for all others
	wrote   bool             // something that must be durable before it is answered
	owner   bool             // reads see what any machine has acknowledged
	stale   error            // they cannot, for the calls that are run
	held    *roster.Holdings // with which it was found that calls can be run here
	avoid   []uint32         // machines that do not answer, for the calls that are run
	silent  time.Time        // since when it waits for some that are starting, zero if it does not
	waited  bool             // it has, for what was sent last
	away    time.Duration    // how long the running bundle has waited for other machines
	fresh   time.Duration    // how long the calls that are run have waited for others beforehand
	only    *shardSet        // the shards that it answers for, nil for all
	lost    map[int]string   // shards that nobody could be asked for by the command that is assembled, and why
	touches int              // how often pages were made for the bundle that is run
	gaveWay atomic.Int64     // when its long command has last let others run, since the process began
	gaveUp  bool             // its client was killed while it waited for pages, and the rest is not done
	helps   bool             // it runs commands for clients of another machine
	passes  bool             // and one of them was about what is not here: nothing more is run

	running *Command // the last command that was begun and is not on the items of one filter or sketch

	loans map[uint64]*contents.Part // copies of sketches that other machines hold, by id, for the call that is run
	repay []func()                  // gives them back

	park   parking        // of a call that waits for news
	group  *group         // the transaction that is prepared as one message
	shelf  *staging.Shelf // what has no name yet, nil if there is nothing
	copies []uint64       // of all data, which it reads

	filter uint64 // the filter of the bundle that is run, 0 if it is not on one
	touch  uint32 // bundles until the next one is noted for who is busiest
}

// NewSession returns the session of a new client. kill closes its connection
// and may be called from any goroutine.
func NewSession(id int64, addr, local string, now time.Time, kill func()) *Session {
	s := &Session{}
	s.Init(id, addr, local, now, kill)
	return s
}

// Busy reports whether the client is inside a transaction or has asked for
// something that ends with its connection.
func (s *Session) Busy() bool { return s.multi || len(s.watches) > 0 }
