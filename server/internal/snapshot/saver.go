package snapshot

// Saver: takes snapshots, one at a time.

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/order"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/status"
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
)

// Source is a door whose state is saved.
type Source interface {
	// Cut sets Version, Cluster, Node and Lanes of m and calls copy, which copies
	// the catalogue, while that cannot change: under its lock, at the position
	// of the first lane. Positions of the other lanes are noted before.
	Cut(m *Manifest, copy func()) error
	// Freeze calls fn with the lane of p, which is a part of e by its index, and
	// its position there while p is locked and its lane is between two messages.
	Freeze(e *catalog.Entry, index int, p *contents.Part, fn func(lane int, position uint64))
	// Settle sets High of all lanes to where they must reach, which is not before
	// any position of m, and returns when they are durable up to there.
	Settle(m *Manifest) error
	// Taken is called when m is in place, with the part files that are not needed
	// any more.
	Taken(m *Manifest, unneeded []string)
}

// Config is what a Saver is made from.
type Config struct {
	Files folder.Files
	State *store.State
	Clock func() time.Time     // of the day
	Tick  func() time.Duration // since some moment
	Log   *slog.Logger
	Sums  bool // compute Item.Sum
	// ReadBack, if not nil, has what a snapshot has written be read from the disk and
	// checked before the snapshot counts. It is asked before each read, and ends the
	// snapshot with its error.
	ReadBack func() error
	Small    int64 // up to where parts are packed; 0 for the default
}

// Saver takes snapshots, one at a time. Make it with NewSaver.
//
// Safe for concurrent use.
type Saver struct {
	config Config
	frozen atomic.Pointer[freeze]

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
	position atomic.Uint64 // of the last one
	count    atomic.Int64
	failures atomic.Int64
}

// spot is where the contents of an id are, and of which version.
type spot struct{ id, version, file, size, sum uint64 }

// pack is a part file: its size, and how much of that is needed.
type pack struct{ size, live uint64 }

// NewSaver returns a saver for a folder that has no snapshot, or one that is adopted
// next. Until then the last snapshot counts as taken now: as with Redis, a server that has
// just started has nothing to save.
func NewSaver(c Config) *Saver {
	if c.Small == 0 {
		c.Small = smallPart
	}
	s := &Saver{config: c}
	s.last.Store(c.Clock().Unix())
	return s
}

// Claim begins a snapshot, which Take then takes. The error is status.ErrSaving if one
// is being taken.
func (s *Saver) Claim() error {
	if !s.running.CompareAndSwap(false, true) {
		return status.ErrSaving
	}
	return nil
}

// Take takes the snapshot that was claimed.
func (s *Saver) Take(src Source) error {
	defer s.running.Store(false)
	s.mu.Lock()
	defer s.mu.Unlock()
	began := s.config.Clock()
	s.began.Store(began.UnixNano())
	s.tried.Store(int64(s.config.Tick()))
	m, err := s.take(src)
	if errors.Is(err, errSpread) { // that happens once in the life of a cluster
		m, err = s.take(src)
	}
	took := s.config.Tick() - time.Duration(s.tried.Load())
	s.took.Store(int64(took))
	if err != nil {
		err = fmt.Errorf("snapshot: %w", err)
		s.failed.Store(&err)
		s.failures.Add(1)
		return err
	}
	s.failed.Store(nil)
	s.last.Store(began.Unix())
	s.count.Add(1)
	s.config.Log.Info("snapshot taken", "number", m.Number, "names", m.Names(), "seconds", float64(took.Milliseconds())/1000)
	return nil
}

func (s *Saver) take(src Source) (*Manifest, error) {
	order.Waits("fsync")
	if err := s.forgetMissing(); err != nil {
		return nil, err
	}
	before := s.config.State.Holdings()
	held := before.Held()
	m, values, err := s.catalogue(src)
	if err != nil {
		return nil, err
	}
	m.Held = held
	defer s.config.State.Unretain()
	m.Number = s.number + 1
	w := newPartsWriter(s, s.next)
	err = s.parts(src, w, m, values)
	if err == nil {
		err = src.Settle(m)
	}
	s.next = w.next // never the same name twice
	if err == nil {
		now := s.config.State.Holdings()
		if m.Held = roster.Both(held, now.Held()); (before == nil) != (now == nil) {
			err = errSpread
		}
		if m.Next = w.next; len(m.Items) > 0 {
			m.Next = max(m.Next, 1) // what is gone before any file was made has file 0 all the same
		}
	}
	if err == nil {
		err = m.Write(s.config.Files)
	}
	if err == nil && s.config.ReadBack != nil {
		err = s.readBack(w.made)
	}
	if err != nil {
		for number := range w.made {
			_ = s.config.Files.Remove(folder.PartName(number))
		}
		return nil, err
	}
	s.number = m.Number
	if err := s.config.Files.Rename(folder.ManifestTemp, folder.Manifest); err != nil {
		return nil, err // it may be in place all the same: nothing is removed
	}
	if err := s.config.Files.Sync(); err != nil { // before anything older is removed
		return nil, err
	}
	s.adopt(m, w.made)
	names, err := s.config.Files.List()
	if err == nil { // else the next one removes them
		src.Taken(m, Unneeded(names, m))
	}
	return m, nil
}

// errSpread means that a snapshot has a catalogue in which every node holds everything, and may
// lack contents, or the other way round.
var errSpread = errors.New("contents were spread over nodes meanwhile")

// parts writes what is not in a file yet, and makes it durable.
func (s *Saver) parts(src Source, w *partsWriter, m *Manifest, values []value) (err error) {
	for _, long := range []bool{true, false} { // long strings stay in memory until then, also if they are replaced
		for i, v := range values {
			if err == nil && !v.done && len(v.text) < store.Long != long {
				err = s.contents(src, w, m, &m.Items[i], v)
				values[i] = value{done: true}
				if v.index == 0 {
					s.config.State.LetGo(v.entry)
				}
			}
		}
	}
	if err = errors.Join(err, w.close()); err == nil && len(w.made) > 0 {
		err = s.config.Files.Sync() // the names, before the manifest names them
	}
	return err
}

// forgetMissing forgets part files that somebody has removed. What was in them is
// still in memory, and is written again: a snapshot that relied on them would be
// lost, and the log before it with it.
func (s *Saver) forgetMissing() error {
	names, err := s.config.Files.List()
	if err != nil {
		return err
	}
	for number := range s.packs {
		name := folder.PartName(number)
		if _, found := slices.BinarySearch(names, name); !found {
			s.config.Log.Warn("a part file is missing; its contents are written again", "file", name)
			delete(s.packs, number)
		}
	}
	return nil
}

// value is what an item stands for: a part, or a string.
type value struct {
	entry *catalog.Entry
	part  *contents.Part
	index int // of part
	text  string
	done  bool
}

// catalogue copies the names, with the positions at that moment. A filter of several
// parts is an item for the first, which has the name, and one for each of the others.
func (s *Saver) catalogue(src Source) (*Manifest, []value, error) {
	state := s.config.State
	m := &Manifest{Saved: s.config.Clock().UnixMilli()}
	var entries []*catalog.Entry
	err := src.Cut(m, func() {
		entries = state.Names.Unsorted()
		state.Retain()
		m.Last, m.Seeded, m.Seed = state.Last(), state.Seeded(), state.Names.Seed()
		m.Items = make([]Item, len(entries))
		for i, e := range entries {
			m.Items[i] = Item{ID: e.ID, Kind: e.Kind, Deadline: e.When(), Name: e.Name()}
		}
	})
	if err != nil {
		return nil, nil, err
	}
	slices.SortFunc(m.Items, func(a, b Item) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(entries, func(a, b *catalog.Entry) int { return cmp.Compare(a.ID, b.ID) })
	return m, m.spread(entries), nil
}

// spread puts an item for every further part behind that of its filter, and returns
// what the items stand for.
func (m *Manifest) spread(entries []*catalog.Entry) []value {
	values := make([]value, 0, len(entries))
	items := make([]Item, 0, len(entries))
	for i, e := range entries {
		items = append(items, m.Items[i])
		if contents.PartCount(e) == 0 {
			values = append(values, value{entry: e, text: store.Text(e)})
		}
		for j, p := range contents.Parts(e) {
			values = append(values, value{entry: e, part: p, index: j})
			if j > 0 {
				items = append(items, Item{ID: e.ID + uint64(j), Kind: catalog.FilterPart, Deadline: m.Items[i].Deadline})
			}
		}
	}
	m.Items = items
	return values
}

// find returns where the contents of an id were at the last snapshot. It reports
// false if they have to be written again.
func (s *Saver) find(id uint64) (spot, bool) {
	i, ok := slices.BinarySearchFunc(s.spots, id, func(v spot, id uint64) int { return cmp.Compare(v.id, id) })
	if !ok {
		return spot{}, false
	}
	v := s.spots[i]
	p := s.packs[v.file]
	crowded := p == nil || 2*p.live < p.size || len(s.packs) > maxPacks && p.size < fewBytes
	return v, !crowded
}

// Adopt takes over a snapshot that was loaded, with the sizes of its part files. One that
// was never taken is that of an empty folder.
func (s *Saver) Adopt(m *Manifest, sizes map[uint64]uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.adopt(m, sizes)
	if m.Saved > 0 {
		s.last.Store(time.UnixMilli(m.Saved).Unix())
	}
}

// adopt remembers where everything is.
func (s *Saver) adopt(m *Manifest, sizes map[uint64]uint64) {
	s.number, s.next = m.Number, m.Next
	s.position.Store(m.Position())
	s.spots = make([]spot, 0, len(m.Items))
	packs := map[uint64]*pack{}
	for i := range m.Items {
		it := &m.Items[i]
		if !it.InFile() {
			continue
		}
		s.spots = append(s.spots, spot{it.ID, it.Version, it.File, it.Size, it.Sum})
		p := packs[it.File]
		if p == nil {
			p = &pack{size: sizes[it.File]}
			if old := s.packs[it.File]; old != nil {
				p.size = old.size
			}
			packs[it.File] = p
		}
		p.live += it.Size
	}
	s.packs = packs
}

// Forget makes the next snapshot write again what is in these part files.
func (s *Saver) Forget(numbers []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, number := range numbers {
		delete(s.packs, number)
	}
}

// Unneeded returns which part files among names, and whether the manifest of a
// snapshot that was not finished, m does not need.
func Unneeded(names []string, m *Manifest) []string {
	parts := m.Files()
	var old []string
	for _, name := range names {
		number, ok := folder.ParsePartName(name)
		if _, needed := parts[number]; ok && !needed || name == folder.ManifestTemp {
			old = append(old, name)
		}
	}
	return old
}

// Missing returns which file of the last snapshot is not among names, nil if all are,
// or if a snapshot is being taken, which looks itself.
func (s *Saver) Missing(names []string) error {
	if !s.mu.TryLock() {
		return nil
	}
	defer s.mu.Unlock()
	has := func(name string) bool {
		_, found := slices.BinarySearch(names, name)
		return found
	}
	if s.number > 0 && !has(folder.Manifest) {
		return fmt.Errorf("%s was removed", folder.Manifest)
	}
	for number := range s.packs {
		if !has(folder.PartName(number)) {
			return fmt.Errorf("%s was removed", folder.PartName(number))
		}
	}
	return nil
}

// Verify reads the last snapshot back. No other one removes files meanwhile.
func (s *Saver) Verify() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := Read(s.config.Files)
	if err == nil && m != nil {
		err = Check(s.config.Files, m)
	}
	return err
}

// Running reports whether a snapshot is being taken.
func (s *Saver) Running() bool { return s.running.Load() }

// Position returns the position of the last snapshot, in the first lane.
func (s *Saver) Position() uint64 { return s.position.Load() }

// Failing returns how long ago the last snapshot was tried, if it failed.
func (s *Saver) Failing() (ago time.Duration, failing bool) {
	return s.config.Tick() - time.Duration(s.tried.Load()), s.failed.Load() != nil
}

// Status sets what st says of snapshots.
func (s *Saver) Status(st *status.Disk) {
	st.Saving, st.Began, st.Saved = s.running.Load(), time.Unix(0, s.began.Load()), time.Unix(s.last.Load(), 0)
	st.Took, st.Snapshots, st.Failed = time.Duration(s.took.Load()), s.count.Load(), s.failures.Load()
	if err := s.failed.Load(); err != nil {
		st.Err = *err
	}
}
