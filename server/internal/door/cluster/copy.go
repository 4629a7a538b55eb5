package cluster

// Copies of all data for a client: the folder of a single server.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/cluster/journal"
	"github.com/bloomery/bloomery/server/internal/door/cluster/messages"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/snapshot"
	"github.com/bloomery/bloomery/server/internal/status"
)

var _ door.Copier = (*Door)(nil)

// A copy is a snapshot of this node, whose part files are held open, and a journal of
// what was applied while it was taken:
//
//	a round trip in every lane ── journal ── snapshot ── end of the journal ── manifest
//
// The manifest is that of a single server. It has positions of the journal where that
// of the node has positions of lanes, so a recovery from the copy gives the state at
// the end of the journal, each lane between two messages.

// savingEvery is how often a copy looks whether the snapshot that is being taken is, and
// savingFor for how long.
// copyTries is how often a copy is begun of a cluster whose transactions, or deaths of nodes, get in its way.
const (
	copyTries   = 5
	savingEvery = 50 * time.Millisecond
	savingFor   = 10 * time.Minute
)

// OpenCopy implements door.Copier.
func (d *Door) OpenCopy(stale bool) (uint64, []door.CopiedFile, error) {
	k := &d.keep
	err := d.Serving()
	if err == nil && !stale {
		err = d.barrier(d.all()...)
	}
	if err != nil {
		return 0, nil, err
	}
	if err := d.claimCopy(); err != nil {
		return 0, nil, fmt.Errorf("cluster: copy: %w", err)
	}
	defer k.copying.Store(false)
	h, err := d.makeCopy(fmt.Sprintf("%016d", k.copies.Add(1)))
	for tries := 1; (errors.Is(err, journal.ErrWatched) || errors.Is(err, errTwice)) && tries < copyTries; tries++ {
		if err = k.save.Claim(); err == nil {
			h, err = d.makeCopy(fmt.Sprintf("%016d", k.copies.Add(1)))
		}
	}
	if err != nil {
		return 0, nil, fmt.Errorf("cluster: copy: %w", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	number := d.addHold(h)
	files := make([]door.CopiedFile, len(h.held.Names))
	for i, name := range h.held.Names {
		files[i] = door.CopiedFile{Name: name, Size: h.held.Readers[i].Size()}
	}
	return number, files, nil
}

// ReadCopy implements door.Copier.
func (d *Door) ReadCopy(number, file, offset, length uint64) ([]byte, error) {
	r, err := d.heldFile(number, file, offset, length)
	if err != nil {
		return nil, err
	}
	if far, ok := r.(*remoteFile); ok {
		return far.piece(int64(offset), int(length))
	}
	b := make([]byte, length)
	if n, err := r.ReadAt(b, int64(offset)); n < len(b) { // at the end of the file there may be io.EOF as well
		return nil, err
	}
	return b, nil
}

// CloseCopy implements door.Copier.
func (d *Door) CloseCopy(number uint64) { d.closeHold(number) }

// claimCopy returns when this copy is the only one that is made, and no snapshot is
// being taken. A disk that hangs ends no snapshot, and may not hold the client as well.
func (d *Door) claimCopy() error {
	ctx, cancel := context.WithTimeout(context.Background(), savingFor)
	defer cancel()
	k := &d.keep
	for {
		k.mu.Lock()
		room, after := d.roomForHold(), d.nextRoom()
		k.mu.Unlock()
		if !room {
			return fmt.Errorf("%w: if one of them was killed, there is room in %d s", errHolds, int(after.Seconds())+1)
		}
		if k.copying.CompareAndSwap(false, true) {
			err := k.save.Claim()
			if err == nil {
				return nil
			}
			k.copying.Store(false)
			if !errors.Is(err, status.ErrSaving) {
				return err
			}
		}
		if err := d.pause(ctx, savingEvery); err != nil {
			return errors.Join(status.ErrSaving, err)
		}
	}
}

// makeCopy takes a snapshot, which was claimed, with a journal of what is applied
// meanwhile.
func (d *Door) makeCopy(prefix string) (*hold, error) {
	k := &d.keep
	j := journal.New(d.config.Files, prefix)
	k.journal.Store(j)
	all := d.all()
	j.Track(len(all))
	for i, l := range all {
		l.still(func(seq uint64) { j.From(i, seq) })
	}
	src := &copySource{Source: d.source, files: d.config.Files, lanes: all, journal: j, positions: map[uint64]uint64{}, places: map[uint64]messages.Place{}, over: make(chan struct{}), broken: d.state.BrokenShadow}
	err := d.take(src)
	if err == nil && src.err == nil {
		err = d.gather(src)
	}
	k.journal.Store(nil)
	d.betweenMessages()
	err = errors.Join(err, j.Close(), src.err, d.failed())
	h := &hold{held: &src.held, own: j.Names(), over: src.over}
	if err == nil {
		src.openGathered(d)
		err = src.finish()
	}
	if err != nil {
		_ = h.held.Close() // it was only read
		d.removeAll(h.own)
		close(h.over)
		return nil, err
	}
	return h, nil
}

// betweenMessages returns when every message that was being applied is.
func (d *Door) betweenMessages() {
	for _, l := range d.all() {
		l.still(func(uint64) {})
	}
}

// copySource is the door as a snapshot sees it from which a copy is made: it notes
// which position of the journal each part has.
type copySource struct {
	snapshot.Source
	files     folder.Files
	journal   *journal.Journal
	broken    func(id uint64) bool // shadows that a single server would take for whole ones
	lanes     []*lane
	cut       uint64                    // position of the catalogue
	begun     []uint64                  // the last message of each lane of which something may be before cut
	positions map[uint64]uint64         // of parts, by id
	places    map[uint64]messages.Place // of parts that other nodes hold, by id: as what they were frozen
	gathered  []*gathered               // from other nodes
	over      chan struct{}             // closed when nobody needs what other nodes hold
	taken     snapshot.Manifest
	held      snapshot.Held
	err       error
}

// Cut implements snapshot.Source.
func (s *copySource) Cut(m *snapshot.Manifest, copy func()) error {
	return s.Source.Cut(m, func() {
		s.cut = s.journal.Position()
		s.begun = s.begun[:0]
		for _, l := range s.lanes {
			s.begun = append(s.begun, l.begun.Load())
		}
		copy()
	})
}

// Freeze implements snapshot.Source.
func (s *copySource) Freeze(e *catalog.Entry, index int, p *contents.Part, fn func(lane int, position uint64)) {
	s.Source.Freeze(e, index, p, func(lane int, position uint64) {
		s.positions[e.ID+uint64(index)] = s.journal.Position()
		fn(lane, position)
	})
}

// Taken implements snapshot.Source: no other snapshot removes the files before they
// are open.
func (s *copySource) Taken(m *snapshot.Manifest, unneeded []string) {
	s.Source.Taken(m, unneeded)
	s.taken = *m
	s.taken.Items = slices.Clone(m.Items)
	for _, number := range slices.Sorted(maps.Keys(m.Files())) {
		if s.err = s.open(s.files, folder.PartName(number), folder.PartName(number)); s.err != nil {
			return
		}
	}
}

// open opens a file that the copy has under another name.
func (s *copySource) open(files folder.Folder, name, copied string) error {
	r, err := files.Open(name)
	if err == nil {
		s.held.Names, s.held.Readers = append(s.held.Names, copied), append(s.held.Readers, r)
	}
	return err
}

// finish adds the journal, and last the manifest, without which the files are of no
// use.
func (s *copySource) finish() error {
	if s.taken.Number == 0 {
		return errNotYet // Taken was not called: the folder could not be read
	}
	for _, start := range s.journal.Starts() {
		if err := s.open(s.files, s.journal.Name(start), folder.LogName(start)); err != nil {
			return err
		}
	}
	m := s.taken
	m.Version, m.Cluster, m.Node = snapshot.Version1, 0, 0
	m.Lanes = []snapshot.Lane{{Seq: s.cut, High: s.journal.Position()}}
	m.Items = slices.DeleteFunc(slices.Clone(m.Items), func(it snapshot.Item) bool { return s.broken(it.ID) })
	for i := range m.Items {
		it := &m.Items[i]
		position, part := s.positions[it.ID]
		if !part {
			position = s.cut
		}
		if p, other := s.places[it.ID]; other {
			var err error
			if position, err = s.journal.At(p); err != nil {
				return err
			}
			position = max(position, s.cut) // in between the lane has nothing: it was not behind begun
			m.Next = max(m.Next, it.File+1)
		}
		it.Lane, it.Position, it.Version = 0, position, 0
	}
	in := &folder.Memory{}
	if err := m.Install(in); err != nil {
		return err
	}
	return s.open(in, folder.Manifest, folder.Manifest)
}

// removeAll removes files that nobody needs.
func (d *Door) removeAll(names []string) {
	for _, name := range names {
		if err := d.config.Files.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			d.config.Slog.Warn("cannot remove a file that is not needed", "file", name, "error", err)
		}
	}
}

// removeCopies removes what copies of an earlier process have left.
func (d *Door) removeCopies() error {
	names, err := d.config.Files.List()
	if err != nil {
		return err
	}
	var old []string
	for _, name := range names {
		if strings.HasSuffix(name, journal.Suffix) {
			old = append(old, name)
		}
	}
	d.removeAll(old)
	return nil
}
