// Package local is the door of a single machine: records are ordered by the
// locks of what they change, applied in the caller's goroutine, and appended to
// a log.
//
//	Do ── lock part ── Admit, Apply, encode (per record) ── append (once) ── unlock
//	                                                           │
//	                            buffer ── frame ── write, fsync by mode ─► log
//
// A folder holds three kinds of files, all of them sequences of frames:
//
//	00000000000000000000.log   records; the name is the position of the first
//	0000000000000001.part      contents of filters and strings
//	MANIFEST                   names, and where the contents of each are
//
// A snapshot writes what changed since the last one, part by part, while writes
// go on, and notes for every part the position up to which the log is in it.
// Recovery reads the manifest, the parts, and then the log from the position of
// the manifest on, leaving out what a part already has. Files are reached
// through the small interface folder.Files, which tests replace.
package local

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/order"
	"github.com/bloomery/bloomery/server/internal/snapshot"
	"github.com/bloomery/bloomery/server/internal/store"
)

var (
	_ door.Door   = (*Door)(nil)
	_ door.Keeper = (*Door)(nil)
)

const (
	// flushEvery is how long records wait in memory at most, unless the mode
	// is always.
	flushEvery = 10 * time.Millisecond
	// retryEvery is how often a full disk is tried again.
	retryEvery = 100 * time.Millisecond
	// lookEvery is how often the folder is looked at: somebody may have removed
	// a file.
	lookEvery = time.Second
)

// Config is what a door is made from.
type Config struct {
	// State is what records change. It must be empty: Open fills it from
	// Files.
	State *store.State
	// Files is the folder; nil means that nothing is kept.
	Files folder.Files
	// Fsync says when writes are durable.
	Fsync Fsync
	// SnapshotAfter is how many bytes of log begin a snapshot; if the data is
	// larger, its size counts. 0 means 64 MiB, negative never.
	SnapshotAfter int64
	// Clock returns the time of day; nil means time.Now.
	Clock func() time.Time
	// Tick returns the time since some moment, by a clock that nobody sets: it
	// decides when the log is written and synced. nil means that of the
	// machine.
	Tick func() time.Duration
	// Stop, if it is not nil, is asked again and again while Open reads the
	// folder: an error ends that, and is returned.
	Stop func() error
	// Log is where the door says what it does; nil for nowhere.
	Log *slog.Logger
	// Most is how many bytes of contents are opened if they were those of a cluster, which may hold more than
	// a machine; 0 for any number. What a server has had itself is always opened.
	Most int64

	// LogFile is where a log file ends and the next one begins, and Small up to where
	// parts are packed into one file, in bytes. 0 means 64 MiB and 1 MiB.
	LogFile, Small int64
	// Manual means that nothing is done in the background: the log is written when
	// that is asked for.
	Manual bool

	drop bool // names whose contents are lost are removed
}

// Door is a door over a log. Make it with Open.
//
// Safe for concurrent use.
type Door struct {
	config  Config
	state   *store.State
	effects sync.Pool // *store.Effect
	log     *log      // nil if nothing is kept
	lock    io.Closer

	dropped []string // names, by dropLost
	damaged []uint64 // part files, by dropLost

	save   *snapshot.Saver
	lostAt uint64 // a snapshot from here on has what was in a file that is missing; under the log's io
	stop   chan struct{}
	tasks  sync.WaitGroup
}

// Open fills the state of c with what its folder holds, and returns a door that
// changes it. An error that wraps bloomery.ErrCorrupt names file and offset.
func Open(c Config) (*Door, error) {
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Tick == nil {
		began := time.Now()
		c.Tick = func() time.Duration { return time.Since(began) }
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Stop == nil {
		c.Stop = func() error { return nil }
	}
	if c.SnapshotAfter == 0 {
		c.SnapshotAfter = logFileBytes
	}
	if c.LogFile == 0 {
		c.LogFile = logFileBytes
	}
	d := &Door{config: c, state: c.State, stop: make(chan struct{})}
	d.effects.New = func() any { return new(store.Effect) }
	if c.Files == nil {
		return d, nil
	}
	lock, err := c.Files.Lock()
	if err != nil {
		return nil, fmt.Errorf("local: open: %w", err)
	}
	d.lock = lock
	d.save = snapshot.NewSaver(snapshot.Config{
		Files: c.Files, State: c.State, Clock: c.Clock, Tick: c.Tick, Log: c.Log, Small: c.Small,
	})
	if err := d.recover(); err != nil {
		return nil, errors.Join(fmt.Errorf("local: open: %w", err), lock.Close())
	}
	if !c.Manual {
		d.tasks.Go(d.background)
	}
	return d, nil
}

// Ready implements door.Door: it waits until the buffer of the log has room, and
// until a snapshot has caught up with what writers put aside.
func (d *Door) Ready(piece bool) {
	if d.log == nil {
		return
	}
	most := int64(maxBuffered)
	if piece {
		most = maxPieces
	}
	order.Waits("room in the log")
	d.log.room(most)
	d.save.Throttle()
}

// Do applies ops in order, each run on one part under one lock. A full disk does
// not stop it: what cannot be written stays in memory until it can. After a
// failed sync, which is final, it applies nothing: Wait sets the error.
func (d *Door) Do(ops []*door.Op) {
	if d.log != nil {
		if err := d.log.err.Load(); err != nil && err.final {
			d.refuse(ops, err)
			return
		}
	}
	for _, op := range ops {
		op.Err, op.Settled = nil, true
	}
	for len(ops) > 0 {
		n := 1
		if !ops[0].Record.Part() {
			d.names(ops[0])
		} else {
			for n < len(ops) && ops[n].Record.Part() && sameTarget(ops[n], ops[0]) {
				n++
			}
			d.part(ops[:n])
			for _, op := range ops[:n] {
				op.Result.Await() // nobody else does
			}
		}
		ops = ops[n:]
	}
}

// refuse answers ops with an error: none of them is applied.
func (d *Door) refuse(ops []*door.Op, err error) {
	for _, op := range ops {
		op.Settled = true
		op.Err, op.Result.Err, op.Result.Changed, op.Result.Done, op.Result.N = err, err, false, 0, 0
		if _, ok := op.Record.Body.(*store.Commit); ok {
			d.log.mark(false) // nobody must wait for its end
		}
	}
}

func sameTarget(a, b *door.Op) bool {
	return a.Record.ID == b.Record.ID && a.Record.Index == b.Record.Index && (a.Admit == nil) == (b.Admit == nil)
}

// names applies a record of the catalogue.
func (d *Door) names(op *door.Op) {
	if len(op.Record.NewName()) > store.MaxName {
		op.Result.Err, op.Result.Changed, op.Result.N = store.ErrLength, false, 0
		return
	}
	f := d.effect(op)
	defer d.put(op, f)
	d.state.Await(&op.Record)
	d.state.Names.Lock()
	defer d.state.Names.Unlock()
	if _, ok := op.Record.Body.(*store.Begin); ok && d.log != nil {
		d.log.mark(true)
	}
	if d.log != nil && op.Record.Moves() {
		d.log.move(true)
		defer d.log.move(false)
	}
	d.apply(op, nil, f)
	defer op.Result.Release()
	if d.log == nil {
		return
	}
	d.log.append(f.Take())
	if _, ok := op.Record.Body.(*store.Commit); ok {
		d.log.mark(false)
	}
}

// effect returns memory for what op does, which put gives back.
func (d *Door) effect(op *door.Op) *store.Effect {
	if op.Effect != nil {
		return op.Effect
	}
	return d.effects.Get().(*store.Effect)
}

func (d *Door) put(op *door.Op, f *store.Effect) {
	if op.Effect == nil {
		d.effects.Put(f)
	}
}

// part applies a run of records of one part.
func (d *Door) part(ops []*door.Op) {
	p := ops[0].Part
	if p == nil {
		if e := d.state.Names.ByID(ops[0].Record.ID); e != nil {
			p = contents.PartAt(e, ops[0].Record.Index)
		}
	}
	if p == nil {
		for _, op := range ops {
			op.Result.Err = contents.ErrRetry
		}
		return
	}
	f := d.effect(ops[0])
	defer d.put(ops[0], f)
	p.Lock()
	defer p.Unlock()
	if d.state.Shadowed(ops[0].Record.ID) {
		for i := range ops {
			d.shadowed(ops[i:i+1], p, f)
		}
		return
	}
	d.admit(ops, p, f)
	if d.log != nil {
		d.log.append(f.Take())
		d.save.Note(p)
	}
}

// shadowed applies a record of a filter that has a shadow, or of a shadow. Parts of the
// shadow may be locked until the record is in the log, so every record is a run of its own.
func (d *Door) shadowed(ops []*door.Op, p *contents.Part, f *store.Effect) {
	op := ops[0]
	if err := d.state.Meets(&op.Record); err != nil {
		op.Result.Err, op.Result.Changed, op.Result.Done = err, false, 0
		return
	}
	d.admit(ops, p, f)
	defer op.Result.Release()
	if d.log != nil {
		d.log.append(f.Take())
		d.save.Note(p)
	}
}

// admit asks for the memory of a run and applies it. If there is not enough for
// all, it asks for one record after the other.
func (d *Door) admit(ops []*door.Op, p *contents.Part, f *store.Effect) {
	admit := ops[0].Admit
	if admit == nil {
		for _, op := range ops {
			d.apply(op, p, f)
		}
		return
	}
	aside, ok := admit.Admit(p, ops)
	if ok {
		for _, op := range ops {
			d.apply(op, p, f)
		}
		admit.Settle(aside)
		return
	}
	if len(ops) == 1 {
		res := &ops[0].Result
		res.Err, res.Changed, res.Done = door.ErrMemory, false, 0
		return
	}
	for i := range ops {
		d.admit(ops[i:i+1], p, f)
	}
}

func (d *Door) apply(op *door.Op, p *contents.Part, f *store.Effect) {
	store.Apply(d.state, &op.Record, p, &op.Result)
	if d.log != nil {
		f.Add(&op.Record, &op.Result)
	}
}

// Wait returns at once: Do has applied ops, or set their Err.
func (d *Door) Wait([]*door.Op) {}

// Busy implements door.Door.
func (d *Door) Busy() bool {
	if d.log == nil {
		return false
	}
	return d.log.crowded(maxBuffered) || d.save.Crowded()
}

// Long implements door.Door.
func (d *Door) Long() int64 {
	if d.log == nil {
		return 0
	}
	return d.log.longBytes.Load() + d.state.Retained()
}

// Sync implements door.Door.
func (d *Door) Sync() error {
	if d.log == nil {
		return nil
	}
	order.Waits("a sync of the log")
	return d.log.wait()
}

// SetFsync implements door.Keeper.
func (d *Door) SetFsync(mode string) error {
	m, err := ParseFsync(mode)
	if err == nil && d.log != nil {
		d.log.setMode(m)
	}
	return err
}

// Refuses implements door.Door.
func (d *Door) Refuses() error {
	if d.log == nil {
		return nil
	}
	if err := d.log.err.Load(); err != nil {
		return err
	}
	return nil
}

// Close waits for a snapshot that is being taken, makes everything durable and
// closes the log. If much of the log would have to be replayed, it takes a
// snapshot first.
func (d *Door) Close() error {
	if d.log == nil {
		return nil
	}
	close(d.stop)
	d.tasks.Wait()
	if d.look() || d.config.SnapshotAfter > 0 && d.Status().LogBytes > closeSnapshot {
		if err := d.Snapshot(); err != nil {
			d.config.Log.Warn("no snapshot at the end: the next start replays the log", "error", err)
		}
	}
	if err := errors.Join(d.log.close(), d.lock.Close()); err != nil {
		return fmt.Errorf("local: close: %w", err)
	}
	return nil
}

// closeSnapshot is how much log is left to the next start at most: what it
// replays in about a second.
const closeSnapshot = 32 << 20

// background writes the log and begins snapshots until the door is closed.
func (d *Door) background() {
	timer, look := time.NewTimer(time.Hour), time.NewTicker(lookEvery)
	defer timer.Stop()
	defer look.Stop()
	refused := false
	for {
		d.log.attended.Store(true)
		select {
		case <-d.stop:
			return
		case <-look.C:
			d.log.attended.Store(false)
			if d.look() {
				_ = d.StartSnapshot() // one that is being taken may have begun too early: then the next
			}
			continue
		case <-d.log.wake:
			if d.log.buffered.Load() < flushBytes && !refused {
				timer.Reset(flushEvery)
				continue
			}
		case <-timer.C:
		}
		d.log.attended.Store(false)
		err := d.log.step()
		if (err != nil) != refused {
			refused = err != nil
			if refused {
				d.config.Log.Error("writes are refused", "error", err)
			} else {
				d.config.Log.Info("writes are taken again")
			}
		}
		switch {
		case refused:
			timer.Reset(retryEvery)
		case d.log.mode() == EverySecond && d.log.oldest.Load() != 0:
			timer.Reset(max(flushEvery, syncEvery-d.log.age()))
		}
		d.saveIfDue()
	}
}
