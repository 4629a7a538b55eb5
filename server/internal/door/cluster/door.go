// Package cluster is the door of several machines: records are ordered by
// replicated streams, and applied by every node in the order of the streams.
//
//	Do ── Admit, encode ── sender of a lane ──► stream ──► tail on every node ── Apply ── Wait
//	                         (messages)      CAT, D1 … DS, W    (one goroutine a lane)
//
// A lane is a stream with its sender and its tail on this node. Lane 0 is the
// catalogue; each part of a filter is in one of the data lanes, and the order of
// its records is that of the lane. Lanes are not ordered among each other, but for
// what a message names: it is applied on no node before that.
//
// What holds, and where:
//
//	I1 equal sequences of a lane, equal parts         lane.apply, still
//	I2 a message changes the state at most once       senders
//	I3 answered means committed, and so everywhere    Wait returns what the tail has applied
//	I4 no reply before the record is applied here     Wait
//	I5 a node that is behind does not serve           Start
//	I6 nothing is purged that two nodes have not kept purge
//	I7 what is applied depends on state and message   applyMessage, store.Apply
//	I8 the memory of an op has one owner              ride, giveUp
package cluster

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/cluster/heartbeat"
	"github.com/bloomery/bloomery/server/internal/door/cluster/messages"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/peers"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/snapshot"
	"github.com/bloomery/bloomery/server/internal/store"
)

var _ door.Shared = (*Door)(nil)

// Level is what this release can read and send: see store.OpLevel. 2 has
// store.OpFilterScale, and the filters of store.LevelShares; 3 has contents that are spread over
// nodes, see store.LevelShards; 4 has rebuilds, see store.LevelRebuilds.
const Level = store.LevelRebuilds

// Config is what a door is made from.
type Config struct {
	// State is what records change. It must be empty: Open fills it.
	State *store.State
	Log   Log
	// Peers is how nodes hear of each other; nil means that they do not.
	Peers Peers
	// Direct is how this node asks others without the log, if they can be asked so; nil means
	// never. The door closes it.
	Direct *peers.Node

	// Files is the folder of this node: snapshots are kept there, and its number.
	// SnapshotAfter is how many bytes of messages begin a snapshot; if the data is
	// larger, its size counts. 0 means 64 MiB, negative never.
	Files         folder.Files
	SnapshotAfter int64

	// Cluster is how people call the cluster, Name this node, and Addr is where
	// clients reach it.
	Cluster string
	Name    string
	Addr    string
	// Lanes is how many data lanes a new cluster gets, 0 for 8.
	Lanes int
	// Follows means that another node begins the cluster: this one waits for it. If
	// several nodes may do so, the first counts.
	Follows bool

	// LaneBytes is how many bytes a stream of the log may have before it refuses more;
	// 0 means that it never does. Snapshots and purges come before that.
	LaneBytes int64
	// MaxMessage is how long a message of the log may be; 0 means 1 MiB.
	MaxMessage int
	// Timeout is how long a write may take before its client is answered that
	// nobody knows; 0 means 15 s.
	Timeout time.Duration

	// Leads reports whether the server of this node leads the stream of the
	// catalogue; nil means that the live node with the lowest number decides.
	Leads func() bool
	// Digest is of the settings that should be equal on all nodes, and Headroom
	// how many bytes this node may still take. Both may be nil.
	Digest   func() uint64
	Headroom func() uint64
	// Capacity is how many bytes this node may take in all, and MoveRate how many bytes of
	// contents it learns a second from others; nil means 1 GiB, and 0 means 64 MiB.
	Capacity func() uint64
	MoveRate int64

	// Clock returns the time of day; nil means time.Now.
	Clock func() time.Time
	// Tick returns the time since some moment, by a clock that nobody sets; nil means
	// that of the machine.
	Tick func() time.Duration
	// Slog is where the door says what it does; nil for nowhere.
	Slog *slog.Logger
}

const (
	defaultLanes   = 8
	defaultMessage = 1 << 20
	defaultTimeout = 15 * time.Second
)

// Door is a door over the streams of a cluster. Make it with Open.
//
// Safe for concurrent use.
type Door struct {
	config Config
	state  *store.State
	level  uint64          // what this node can read and send
	source snapshot.Source // what snapshots are taken of: this door
	limit  int             // bytes of a message
	alone  func(func())
	run    func(body []byte, room int, aside func()) []byte // runs commands for other nodes, nil if nothing does

	id      atomic.Uint64 // of the cluster
	number  atomic.Uint32 // of this node
	session atomic.Uint64
	list    atomic.Pointer[[]*lane] // the catalogue alone until its first record is there

	begun      atomic.Bool // the cluster, by this process
	serving    atomic.Bool
	shut       atomic.Bool // no clients are to come; see Shut
	over       atomic.Bool // closed, or failed
	closed     chan struct{}
	closing    sync.Once
	broken     chan struct{} // closed when the door has failed
	mu         sync.Mutex    // guards failure and stops
	failure    error
	stops      []func() // of tails and peers
	tasks      sync.WaitGroup
	beats      beats
	room       progress // of waitingBytes
	answeredAt atomic.Int64
	keep       keeping
	presence   presence
	compared   heartbeat.Compared
	moves      moves
	nearby     atomic.Pointer[nearby]

	waitingBytes atomic.Int64
	stats        struct{ sent, repeated, applied, passed, stray atomic.Int64 }
}

// Open returns a door that nobody can use before Start.
func Open(c Config) (*Door, error) {
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Tick == nil {
		began := time.Now()
		c.Tick = func() time.Duration { return time.Since(began) }
	}
	if c.Slog == nil {
		c.Slog = slog.New(slog.DiscardHandler)
	}
	if c.Lanes == 0 {
		c.Lanes = defaultLanes
	}
	if c.Lanes < 1 || c.Lanes > roster.MaxLanes {
		return nil, fmt.Errorf("cluster: open: %d lanes: there can be 1 to %d", c.Lanes, roster.MaxLanes)
	}
	if c.SnapshotAfter == 0 {
		c.SnapshotAfter = defaultAfter
	}
	if c.MaxMessage == 0 {
		c.MaxMessage = defaultMessage
	}
	if c.MoveRate == 0 {
		c.MoveRate = defaultMoveRate
	}
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	d := &Door{
		config: c, state: c.State, level: Level, limit: min(messages.MostBytes, c.MaxMessage-messages.Spare),
		closed: make(chan struct{}), broken: make(chan struct{}), alone: func(f func()) { f() },
	}
	d.source = source{d}
	d.presence.suspect = make(chan struct{}, 1)
	if d.limit < 64<<10 {
		return nil, fmt.Errorf("cluster: open: messages of %d bytes are too short: set the limit of the log to 1 MiB", c.MaxMessage)
	}
	d.room.init()
	d.list.Store(&[]*lane{newLane(d, 0)})
	if r := d.state.Roster(); r != nil {
		d.widen(r)
	}
	if err := d.openFolder(); err != nil {
		return nil, fmt.Errorf("cluster: open: %w", err)
	}
	return d, nil
}

// tick is the time by a clock that nobody sets. It is never 0.
func (d *Door) tick() time.Duration { return d.config.Tick() + 1 }

// all returns the lanes, the catalogue first and the wide one last.
func (d *Door) all() []*lane { return *d.list.Load() }

func (d *Door) catalogue() *lane { return d.all()[0] }

// wide returns the lane of filters that every node holds, nil if it is not known.
func (d *Door) wide() *lane {
	if all := d.all(); len(all) > 1 {
		return all[len(all)-1]
	}
	return nil
}

// widen makes the lanes that the roster names.
func (d *Door) widen(r *roster.Roster) {
	d.id.Store(r.ID)
	lanes := d.all()[:1:1]
	for n := 1; n <= r.Lanes+1; n++ {
		lanes = append(lanes, newLane(d, n))
	}
	d.list.Store(&lanes)
}

// fail ends the service of this node for good. Reads are no longer served either:
// what the node has may be behind what others have acknowledged.
func (d *Door) fail(err error) {
	d.mu.Lock()
	first := d.failure == nil
	if first {
		d.failure = err
		close(d.broken)
	}
	d.mu.Unlock()
	d.over.Store(true)
	d.wakeAll()
	if first {
		d.config.Slog.Error("this node no longer serves", "error", err)
	}
}

func (d *Door) wakeAll() {
	for _, l := range d.all() {
		l.moved.wake()
	}
	d.room.wake()
}

// Failed returns a channel that is closed when the door has failed for good: it was
// superseded or removed, or met a message that it cannot read.
func (d *Door) Failed() <-chan struct{} { return d.broken }

// errStarting is why nothing is served before Start has returned.
var errStarting = errors.New("cluster: this node is not current yet")

// Serving returns nil if clients may be served, and why not otherwise.
func (d *Door) Serving() error {
	d.mu.Lock()
	err := d.failure
	d.mu.Unlock()
	if err == nil && !d.serving.Load() {
		err = errStarting
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", door.ErrDown, err)
}

// Refuses implements door.Door: nothing is sent if the node does not serve, or if
// no lane has answered for a while. A lane that does not answer while others do
// refuses its own records: see Do.
func (d *Door) Refuses() error {
	if err := d.Current(); err != nil {
		return err
	}
	if err := d.wrongClock(); err != nil {
		return fmt.Errorf("%w: %w", door.ErrDown, err)
	}
	if d.tick()-time.Duration(d.answeredAt.Load()) <= downAfter {
		return nil
	}
	for _, l := range d.all() {
		if err := l.down(); err != nil {
			return fmt.Errorf("%w: %w", door.ErrDown, err)
		}
	}
	return nil
}

// Busy implements door.Door.
func (d *Door) Busy() bool { return d.waitingBytes.Load() >= mostWaiting && d.Refuses() == nil }

// Long implements door.Door: strings are short in a cluster.
func (d *Door) Long() int64 { return 0 }

// Sync implements door.Door: what is applied is kept by a quorum.
func (d *Door) Sync() error { return nil }

// MaxRecord implements door.Shared.
func (d *Door) MaxRecord() int { return min(store.MaxRecord, d.limit-messages.HeadBytes) }

// Close ends the tails. What is on its way is left to the other nodes.
func (d *Door) Close() (err error) {
	d.closing.Do(func() {
		d.serving.Store(false)
		d.over.Store(true)
		close(d.closed)
		d.wakeAll()
		d.mu.Lock()
		stops := d.stops
		d.stops = nil
		d.mu.Unlock()
		for _, stop := range stops {
			stop()
		}
		d.tasks.Wait()
		err = d.closeFolder()
	})
	return err
}
