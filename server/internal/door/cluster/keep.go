package cluster

// The folder of a node: what it keeps, and when it takes snapshots.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/cluster/journal"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/snapshot"
	"github.com/bloomery/bloomery/server/internal/status"
	"github.com/bloomery/bloomery/server/internal/store"
)

var _ door.Keeper = (*Door)(nil)

const (
	// defaultAfter is after how many bytes of messages a snapshot is taken; if the
	// data is larger, its size counts.
	defaultAfter = 64 << 20
	// messageCost is what a message takes in a stream besides its bytes, about.
	messageCost = 64
	// keepEvery is how often the node looks whether a snapshot is due, or a purge.
	keepEvery = time.Second
)

// keeping is what a node keeps in its folder.
type keeping struct {
	lock    io.Closer
	save    *snapshot.Saver
	found   *snapshot.Manifest // what the folder had, nil for nothing
	opened  bool               // the lanes of the log are usable
	fetched *fetched           // until the node is current
	claimed []uint64           // by lane: what was in the snapshot that the folder had at the start

	bytes atomic.Int64 // of messages since the last snapshot that did not fail was begun

	copying atomic.Bool                     // a copy is made
	copies  atomic.Uint64                   // that were begun
	journal atomic.Pointer[journal.Journal] // of that copy; see OpenCopy

	mu    sync.Mutex    // guards what follows
	taken []uint64      // by lane: the position of the last snapshot
	held  []roster.Held // the shards that it has
	holds map[uint64]*hold
	lent  map[uint32]*lent // by the node that learns
	last  uint64           // number of the last hold, or loan
}

// took counts a message that is applied next. It waits while a snapshot is far behind
// with what is put aside for it. The caller holds no lock.
func (k *keeping) took(n int) {
	k.bytes.Add(int64(n + messageCost))
	k.save.Throttle()
}

// Snapshot implements door.Keeper.
func (d *Door) Snapshot() error {
	if err := d.keep.save.Claim(); err != nil {
		return err
	}
	return d.takeSnapshot()
}

// StartSnapshot implements door.Keeper.
func (d *Door) StartSnapshot() error {
	if err := d.keep.save.Claim(); err != nil {
		return err
	}
	d.tasks.Go(func() {
		if err := d.takeSnapshot(); err != nil {
			d.config.Slog.Error("snapshot failed", "error", err)
		}
	})
	return nil
}

func (d *Door) takeSnapshot() error {
	if err := d.take(d.source); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	return nil
}

// take takes a snapshot, which was claimed. If that fails the next one is due as soon as
// this one was: what it was to have is in none.
func (d *Door) take(src snapshot.Source) error {
	n := d.keep.bytes.Swap(0)
	err := d.keep.save.Take(src)
	if err != nil {
		d.keep.bytes.Add(n)
	}
	return err
}

// Verify implements door.Keeper: it reads the last snapshot back.
func (d *Door) Verify() error {
	if err := d.keep.save.Verify(); err != nil {
		return fmt.Errorf("cluster: verify: %w", err)
	}
	return nil
}

// SetFsync implements door.Keeper. What is answered is on disk at a quorum, and that
// cannot be changed.
func (d *Door) SetFsync(mode string) error {
	if mode != fsyncMode {
		return fmt.Errorf("cluster: fsync %q: what a cluster has answered is on disk at a quorum: it is always %s", mode, fsyncMode)
	}
	return nil
}

const fsyncMode = "always"

// Status implements door.Keeper.
func (d *Door) Status() status.Disk {
	st := status.Disk{Kept: true, Mode: fsyncMode, LogBytes: d.keep.bytes.Load(), LogEnd: d.catalogue().seq.Load()}
	d.keep.save.Status(&st)
	return st
}

// keepUp takes snapshots and purges the log when that is due, until the door is closed.
func (d *Door) keepUp() {
	ticker := time.NewTicker(keepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-d.closed:
			return
		case <-ticker.C:
		}
		if d.snapshotDue() {
			if err := d.Snapshot(); err != nil && !errors.Is(err, status.ErrSaving) {
				d.config.Slog.Error("snapshot failed", "error", err)
			}
		}
		d.expireHolds()
		d.expireLoans()
		d.state.Sweep()
		if d.Decides() {
			d.purge()
		}
	}
}

func (d *Door) snapshotDue() bool {
	after := d.config.SnapshotAfter
	if after < 0 || d.Serving() != nil {
		return false
	}
	after = max(after, d.state.Bytes())
	if d.config.LaneBytes > 0 {
		after = min(after, d.config.LaneBytes/4) // all of it may be of one lane
	}
	if d.keep.bytes.Load() < after {
		return false
	}
	// After a failure, most likely a full disk, give people a minute.
	ago, failing := d.keep.save.Failing()
	return !failing || ago >= time.Minute
}

// source is the door as package snapshot sees it.
type source struct{ *Door }

// Cut implements snapshot.Source. The lanes of parts come first: a filter that is made
// behind the position of the catalogue is not in the snapshot, so all its records have
// to be behind the positions of the other lanes.
func (d source) Cut(m *snapshot.Manifest, copy func()) error {
	err := d.cutParts(m)
	if err == nil {
		d.cutNames(m, copy)
	}
	return err
}

// cutParts notes where the lanes of parts are.
func (d source) cutParts(m *snapshot.Manifest) error {
	all := d.all()
	if err := d.failed(); err != nil {
		return err // the state may be that of no message
	}
	if len(all) == 1 {
		return errStarting
	}
	m.Version, m.Cluster, m.Node = snapshot.Version2, d.id.Load(), d.number.Load()
	m.Lanes = make([]snapshot.Lane, len(all))
	for i, l := range all[1:] {
		l.still(func(seq uint64) { m.Lanes[1+i] = snapshot.Lane{Seq: seq, State: l.senders.Append(nil)} })
	}
	return nil
}

// cutNames notes where the catalogue is, and copies it.
func (d source) cutNames(m *snapshot.Manifest, copy func()) {
	l := d.catalogue()
	l.still(func(seq uint64) {
		d.state.Names.Lock()
		defer d.state.Names.Unlock()
		r := d.state.Roster()
		if r.Level >= store.LevelShards {
			m.Version = snapshot.Version3
		}
		m.Lanes[0] = snapshot.Lane{Seq: seq, State: appendCatalogue(nil, r, l.senders.Append(nil))}
		copy()
	})
}

// Freeze implements snapshot.Source. A message holds several records of a part: only
// between two messages is there a sequence that describes it.
func (d source) Freeze(e *catalog.Entry, index int, p *contents.Part, fn func(lane int, position uint64)) {
	l := d.laneAt(e.ID, uint32(index), contents.Everywhere(e)) // the filter may be gone meanwhile
	l.still(func(seq uint64) {
		p.Lock()
		defer p.Unlock()
		fn(l.number, seq)
	})
}

// Settle implements snapshot.Source. What this node has applied is kept by a quorum.
func (d source) Settle(m *snapshot.Manifest) error {
	if err := d.failed(); err != nil {
		return err
	}
	for i, l := range d.all() {
		l.still(func(seq uint64) {
			m.Lanes[i].High = seq
			m.Lanes[i].State = binary.LittleEndian.AppendUint32(m.Lanes[i].State, l.sum)
		})
	}
	return nil
}

// Taken implements snapshot.Source.
func (d source) Taken(m *snapshot.Manifest, unneeded []string) {
	d.tookSnapshot(m)
	d.removeAll(unneeded)
}

// tookSnapshot notes how far the log is not needed any more by this node.
func (d *Door) tookSnapshot(m *snapshot.Manifest) {
	k := &d.keep
	k.mu.Lock()
	defer k.mu.Unlock()
	d.compared.Keep(m.Items)
	k.taken, k.held = nil, m.Held
	for i := range m.Lanes {
		k.taken = append(k.taken, m.Lanes[i].Seq)
	}
	d.noteKept()
}

// noteKept sets what the node says of itself in its beats: what others fetch or learn from it
// needs the log as well. The caller holds keep.mu.
func (d *Door) noteKept() {
	for i, l := range d.all() {
		if i >= len(d.keep.taken) {
			return
		}
		kept := d.keep.taken[i]
		for _, h := range d.keep.holds {
			if h.held.Manifest == nil {
				continue // a copy needs no log
			}
			kept = min(kept, h.held.Manifest.Lanes[i].Seq)
		}
		for _, z := range d.keep.lent {
			if z.lane == l {
				kept = min(kept, z.seq)
			}
		}
		l.kept.Store(kept)
	}
}

// closeFolder lets go of the folder.
func (d *Door) closeFolder() error {
	d.endLoans(func(uint32, *lent) bool { return true })
	d.keep.mu.Lock()
	holds := slices.Collect(maps.Keys(d.keep.holds))
	d.keep.mu.Unlock()
	for _, number := range holds {
		d.closeHold(number)
	}
	return d.keep.lock.Close()
}
