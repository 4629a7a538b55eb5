package local

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/order"
	"github.com/bloomery/bloomery/server/internal/store"
)

const (
	// smallPart is up to where parts are copied under their lock and packed
	// into one file. Larger ones have a file each and are copied on write.
	smallPart = 1 << 20
	// packBytes is where a file of small parts ends.
	packBytes = 64 << 20
	// maxPacks is from how many packs on the little ones are written again,
	// so that frequent snapshots do not leave ever more files.
	maxPacks  = 32
	fewBytes  = 4 << 20
	syncBytes = 64 << 20 // after so much a sync begins beside the writing

	// pieceBytes is how much of a part is copied under its lock at a time.
	pieceBytes = 256 << 10
	// maxSaved is how much writers may put aside of a part that is being
	// copied before they wait for the copy.
	maxSaved = 16 << 20
)

// errNothingKept is the error of a snapshot without a folder.
var errNothingKept = errors.New("local: snapshot: data is kept in memory only")

// saver takes snapshots, one at a time.
type saver struct {
	mu     sync.Mutex // held while a snapshot is taken
	number uint64
	next   uint64 // part file
	spots  []spot // in the order of ids
	packs  map[uint64]*pack

	running  atomic.Bool
	began    atomic.Int64 // Unix nanoseconds
	tried    atomic.Int64 // the same, as Config.Tick counts
	last     atomic.Int64 // when the last one was taken, Unix seconds
	took     atomic.Int64 // nanoseconds
	failed   atomic.Pointer[error]
	position atomic.Uint64 // from where on the log would be replayed
	count    atomic.Int64
	failures atomic.Int64
}

// spot is where the contents of an id are, and of which version.
type spot struct{ id, version, file, size uint64 }

// pack is a part file: its size, and how much of that is needed.
type pack struct{ size, live uint64 }

// freeze is a part that is being copied while it changes.
type freeze struct {
	part   *store.Part
	mu     sync.Mutex // before that of part; for frozen
	frozen store.Frozen
	moved  sync.Cond
	done   bool
	saved  atomic.Int64 // bytes that writers put aside
}

// throttle waits while too much of the part that is being copied was put aside.
func (d *Door) throttle() {
	z := d.frozen.Load()
	if z == nil || z.saved.Load() < maxSaved {
		return
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	for !z.done && z.saved.Load() >= maxSaved {
		z.moved.Wait()
	}
}

// noteSaved notes how much of p was put aside, if it is being copied. The caller
// holds its lock.
func (d *Door) noteSaved(p *store.Part) {
	if z := d.frozen.Load(); z != nil && z.part == p {
		z.saved.Store(int64(z.frozen.Saved()))
	}
}

// partName returns the name of a part file.
func partName(number uint64) string { return fmt.Sprintf("%016d.part", number) }

// parsePartName returns the number of a part file.
func parsePartName(name string) (uint64, bool) { return parseName(name, 16, ".part") }

// Status implements door.Keeper.
func (d *Door) Status() door.Status {
	s := &d.save
	st := door.Status{
		Kept: d.log != nil, Mode: d.config.Fsync.String(), Saving: s.running.Load(), Began: time.Unix(0, s.began.Load()),
		Saved: time.Unix(s.last.Load(), 0), Took: time.Duration(s.took.Load()), Snapshots: s.count.Load(),
		Failed: s.failures.Load(),
	}
	if err := s.failed.Load(); err != nil {
		st.Err = *err
	}
	if d.log == nil {
		return st
	}
	st.Mode = d.log.mode().String()
	st.LogEnd = d.log.position()
	st.LogBytes = int64(st.LogEnd - s.position.Load())
	st.Buffered, st.Syncs = d.log.buffered.Load(), d.log.syncs.Load()
	st.Behind, st.Failures = d.log.age(), d.log.failures.Load()
	if at := d.log.synced.Load(); at != 0 {
		st.Synced = d.config.Clock().Add(-time.Duration(d.log.now() - at))
	}
	return st
}

// saveIfDue begins a snapshot in the background if the log has outgrown the
// data.
func (d *Door) saveIfDue() {
	after := d.config.SnapshotAfter
	if after < 0 || d.save.running.Load() || int64(d.log.position()-d.save.position.Load()) < max(after, d.state.Bytes()) {
		return
	}
	// After a failure, most likely a full disk, give people a minute.
	if d.save.failed.Load() != nil && d.config.Tick()-time.Duration(d.save.tried.Load()) < time.Minute {
		return
	}
	_ = d.StartSnapshot()
}

// StartSnapshot implements door.Keeper.
func (d *Door) StartSnapshot() error {
	if d.log == nil {
		return errNothingKept
	}
	if !d.save.running.CompareAndSwap(false, true) {
		return door.ErrSaving
	}
	d.tasks.Go(func() {
		if err := d.runSnapshot(); err != nil {
			d.config.Log.Error("snapshot failed", "error", err)
		}
	})
	return nil
}

// Snapshot implements door.Keeper.
func (d *Door) Snapshot() error {
	if d.log == nil {
		return errNothingKept
	}
	if !d.save.running.CompareAndSwap(false, true) {
		return door.ErrSaving
	}
	return d.runSnapshot()
}

func (d *Door) runSnapshot() error {
	s := &d.save
	defer s.running.Store(false)
	s.mu.Lock()
	defer s.mu.Unlock()
	began := d.config.Clock()
	s.began.Store(began.UnixNano())
	s.tried.Store(int64(d.config.Tick()))
	m, err := d.snapshot()
	took := d.config.Tick() - time.Duration(s.tried.Load())
	s.took.Store(int64(took))
	if err != nil {
		err = fmt.Errorf("local: snapshot: %w", err)
		s.failed.Store(&err)
		s.failures.Add(1)
		return err
	}
	s.failed.Store(nil)
	s.last.Store(began.Unix())
	s.count.Add(1)
	d.config.Log.Info("snapshot taken", "number", m.number, "names", m.names(), "seconds", took.Seconds())
	return nil
}

// snapshot takes a snapshot:
//
//  1. the catalogue under its lock, at a position of the log;
//  2. every part that changed, each at a position of its own, not before that;
//  3. the log made durable up to all those positions;
//  4. the manifest, renamed into place;
//  5. whatever is older, removed.
func (d *Door) snapshot() (*manifest, error) {
	s := &d.save
	d.log.io.Lock()
	err := d.log.flush()
	if err == nil {
		err = d.log.rotate() // so that all files before can go
	}
	d.log.io.Unlock()
	if err != nil {
		return nil, err
	}
	if err := d.forgetMissing(); err != nil {
		return nil, err
	}
	m, values := d.catalogue()
	defer d.state.Unretain()
	m.number = s.number + 1
	w := newPartsWriter(d, s.next)
	for _, long := range []bool{true, false} { // long strings stay in memory until then, also if they are replaced
		for i, v := range values {
			if err == nil && !v.done && len(v.text) < store.Long != long {
				err = d.contents(w, &m.items[i], v)
				values[i] = value{done: true}
				if v.entry != nil {
					d.state.LetGo(v.entry)
				}
			}
		}
	}
	if err = errors.Join(err, w.close()); err == nil && len(w.made) > 0 {
		err = d.syncFolder(syncPartNames)
	}
	if err == nil {
		// Whoever was removing a name has now logged it.
		d.state.Names.Lock()
		d.state.Names.Unlock() //nolint:staticcheck // waiting is all
		m.high, err = d.log.barrier()
	}
	s.next = w.next // never the same name twice
	if err == nil {
		m.next = w.next
		err = writeManifest(d.config.Files, m, d.sync)
	}
	if err != nil {
		for number := range w.made {
			_ = d.config.Files.Remove(partName(number))
		}
		return nil, err
	}
	s.number = m.number
	if err := d.config.Files.Rename(manifestTemp, manifestName); err != nil {
		return nil, err // it may be in place all the same: nothing is removed
	}
	if err := d.syncFolder(syncRenamed); err != nil {
		return nil, err
	}
	s.adopt(m, w.made)
	d.removeOld(m)
	return m, nil
}

// forgetMissing forgets part files that somebody has removed. What was in them is
// still in memory, and is written again: a snapshot that relied on them would be
// lost, and the log before it with it.
func (d *Door) forgetMissing() error {
	names, err := d.config.Files.List()
	if err != nil {
		return err
	}
	for number := range d.save.packs {
		name := partName(number)
		if _, found := slices.BinarySearch(names, name); !found {
			d.config.Log.Warn("a part file is missing; its contents are written again", "file", name)
			delete(d.save.packs, number)
		}
	}
	return nil
}

// value is what an item stands for: a part, or a string.
type value struct {
	entry *catalog.Entry // of a string, or of a filter in its first part
	part  *store.Part
	text  string
	done  bool
}

// catalogue copies the names, with the position of the log at that moment. A filter
// of several parts is an item for the first, which has the name, and one for each
// of the others.
func (d *Door) catalogue() (*manifest, []value) {
	names := d.state.Names
	names.Lock()
	entries := names.Unsorted()
	d.state.Retain()
	m := &manifest{position: d.log.position(), last: d.state.Last(), saved: d.config.Clock().UnixMilli(), seeded: true, seed: names.Seed()}
	m.items = make([]item, len(entries))
	for i, e := range entries {
		m.items[i] = item{id: e.ID, kind: e.Kind, deadline: e.When(), name: e.Name()}
	}
	names.Unlock()
	slices.SortFunc(m.items, func(a, b item) int { return compare(a.id, b.id) })
	slices.SortFunc(entries, func(a, b *catalog.Entry) int { return compare(a.ID, b.ID) })
	return m, m.spread(entries)
}

// spread puts an item for every further part behind that of its filter, and returns
// what the items stand for.
func (m *manifest) spread(entries []*catalog.Entry) []value {
	values := make([]value, 0, len(entries))
	items := make([]item, 0, len(entries))
	for i, e := range entries {
		items = append(items, m.items[i])
		if store.PartCount(e) == 0 {
			values = append(values, value{entry: e, text: store.Text(e)})
		}
		for j, p := range store.Parts(e) {
			values = append(values, value{part: p})
			if j == 0 {
				values[len(values)-1].entry = e
			} else {
				items = append(items, item{id: e.ID + uint64(j), kind: catalog.FilterPart, deadline: m.items[i].deadline})
			}
		}
	}
	m.items = items
	return values
}

func compare(a, b uint64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// contents finds or makes the place of one item.
func (d *Door) contents(w *partsWriter, it *item, v value) error {
	old, had := d.save.find(it.id)
	p := v.part
	if p == nil { // a string never changes
		it.position = d.log.position()
		if had {
			it.file, it.size = old.file, old.size
			return nil
		}
		return w.text(it, v.text)
	}
	p.Lock()
	it.position, it.version = d.log.position(), p.Changes()
	if it.gone = p.Gone(); it.gone || had && old.version == it.version {
		p.Unlock()
		it.file, it.size = old.file, old.size
		return nil
	}
	frozen, err := p.Freeze()
	if err != nil {
		p.Unlock()
		return err
	}
	size := frozen.Size()
	if size <= d.config.small {
		w.gather(frozen, int(size)+2*minPiece)
		_ = frozen.Close()
		p.Unlock()
		return w.small(it, size)
	}
	z := &freeze{part: p, frozen: frozen}
	z.moved.L = &z.mu
	d.frozen.Store(z)
	p.Unlock()
	err = w.large(it, z, size)
	p.Lock()
	_ = frozen.Close()
	it.gone = p.Gone()
	p.Unlock()
	d.frozen.Store(nil)
	z.finish()
	if it.gone {
		w.discard(it)
	}
	return err
}

// progress copies some pieces and wakes writers that wait for that. It reports
// whether there may be more; there are none of a filter that is gone.
func (z *freeze) progress(w *partsWriter) bool {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.part.RLock()
	defer z.part.RUnlock()
	if z.part.Gone() {
		w.pieces = w.pieces[:0]
		return false
	}
	more := w.gather(z.frozen, pieceBytes)
	z.saved.Store(int64(z.frozen.Saved()))
	z.moved.Broadcast()
	return more
}

func (z *freeze) finish() {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.done = true
	z.moved.Broadcast()
}

// find returns where the contents of an id were at the last snapshot. It reports
// false if they have to be written again.
func (s *saver) find(id uint64) (spot, bool) {
	i, ok := slices.BinarySearchFunc(s.spots, id, func(v spot, id uint64) int { return compare(v.id, id) })
	if !ok {
		return spot{}, false
	}
	v := s.spots[i]
	p := s.packs[v.file]
	crowded := p == nil || 2*p.live < p.size || len(s.packs) > maxPacks && p.size < fewBytes
	return v, !crowded
}

// adopt remembers where everything is.
func (s *saver) adopt(m *manifest, sizes map[uint64]uint64) {
	s.number, s.next = m.number, m.next
	s.position.Store(m.position)
	s.spots = make([]spot, 0, len(m.items))
	packs := map[uint64]*pack{}
	for i := range m.items {
		it := &m.items[i]
		if it.gone {
			continue
		}
		s.spots = append(s.spots, spot{it.id, it.version, it.file, it.size})
		p := packs[it.file]
		if p == nil {
			p = &pack{size: sizes[it.file]}
			if old := s.packs[it.file]; old != nil {
				p.size = old.size
			}
			packs[it.file] = p
		}
		p.live += it.size
	}
	s.packs = packs
}

// removeOld removes what no recovery needs: log files before m, part files that
// m does not name, and what a snapshot that failed has left.
func (d *Door) removeOld(m *manifest) {
	names, err := d.config.Files.List()
	if err != nil {
		return
	}
	for _, name := range unneeded(names, m, d.save.packs) {
		aside, err := d.setAside(name)
		if !aside {
			err = d.config.Files.Remove(name)
		}
		if err != nil {
			d.config.Log.Warn("cannot remove a file that is not needed", "file", name, "error", err)
		}
	}
}

// unneeded returns which files of a folder no recovery from m needs.
func unneeded[V any](names []string, m *manifest, parts map[uint64]V) []string {
	var old []string
	logs := ""
	for _, name := range names {
		if start, ok := parseLogName(name); ok {
			if logs != "" && start <= m.position {
				old = append(old, logs)
			}
			logs = name
			continue
		}
		number, ok := parsePartName(name)
		if _, needed := parts[number]; ok && !needed || name == manifestTemp {
			old = append(old, name)
		}
	}
	return old
}

func (d *Door) sync(point syncPoint, f File) error {
	if d.config.skip == point {
		return nil
	}
	order.Waits("fsync")
	return f.Sync()
}

func (d *Door) syncFolder(point syncPoint) error { return d.log.syncFolder(point) }
