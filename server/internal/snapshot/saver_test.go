package snapshot_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/folder/powercut"
	"github.com/bloomery/bloomery/server/internal/snapshot"
	"github.com/bloomery/bloomery/server/internal/status"
	"github.com/bloomery/bloomery/server/internal/store"
)

// lanes is a door of three lanes: the catalogue, and two for parts.
type lanes struct {
	state   *store.State
	files   folder.Files
	seqs    [3]uint64
	between func() // called while nothing is locked, before a part is frozen
}

func (l *lanes) do(t *testing.T, r store.Record) *store.Result {
	t.Helper()
	var res store.Result
	if !r.Part() {
		l.seqs[0]++
		l.state.Names.Lock()
		store.Apply(l.state, &r, nil, &res)
		res.Release()
		l.state.Names.Unlock()
	} else {
		l.seqs[laneOf(r.ID+uint64(r.Index))]++
		store.Apply(l.state, &r, nil, &res)
	}
	if res.Err != nil {
		t.Fatal(res.Err)
	}
	return &res
}

func laneOf(id uint64) int { return 1 + int(id%2) }

func (l *lanes) Cut(m *snapshot.Manifest, copy func()) error {
	m.Version, m.Cluster, m.Node = snapshot.Version2, 99, 2
	for _, seq := range l.seqs {
		m.Lanes = append(m.Lanes, snapshot.Lane{Seq: seq, State: []byte{byte(seq)}})
	}
	l.state.Names.Lock()
	defer l.state.Names.Unlock()
	copy()
	return nil
}

func (l *lanes) Freeze(e *catalog.Entry, index int, p *contents.Part, fn func(int, uint64)) {
	if l.between != nil {
		l.between()
	}
	p.Lock()
	defer p.Unlock()
	lane := laneOf(e.ID + uint64(index))
	fn(lane, l.seqs[lane])
}

func (l *lanes) Settle(m *snapshot.Manifest) error {
	for i, seq := range l.seqs {
		m.Lanes[i].High = seq
	}
	return nil
}

func (l *lanes) Taken(_ *snapshot.Manifest, unneeded []string) {
	for _, name := range unneeded {
		_ = l.files.Remove(name) // the next one removes it
	}
}

func saver(files folder.Files, state *store.State) *snapshot.Saver { return saverOf(files, state, 0) }

// saverOf is saver with parts packed up to a size.
func saverOf(files folder.Files, state *store.State, small int64) *snapshot.Saver {
	began := time.Now()
	return snapshot.NewSaver(snapshot.Config{
		Files: files, State: state, Clock: time.Now, Tick: func() time.Duration { return time.Since(began) }, Log: slog.New(slog.DiscardHandler),
		Small: small,
	})
}

// filled returns a door with a filter of four parts and a string.
func filled(t *testing.T, files folder.Files) (l *lanes, id uint64) {
	t.Helper()
	l = &lanes{state: store.New(), files: files}
	outline, err := codec.AppendOutline(nil, bloom.New(1000, 0.01))
	if err != nil {
		t.Fatal(err)
	}
	l.do(t, store.Record{Body: &store.Seed{Seed: 77}})
	id = l.do(t, store.Record{Body: &store.Make{As: store.OpFilter, Name: []byte("f"), Header: contents.AppendCreation(nil, &contents.Plan{Parts: 2}, outline)}}).Entry.ID
	l.do(t, store.Record{Body: &store.Set{String: store.String{Name: []byte("s"), Value: []byte("text")}}})
	for i := range uint32(4) {
		for h := range uint64(i + 1) {
			l.do(t, store.Record{ID: id, Index: i, Body: &store.FilterAdd{Room: store.Unlimited, Hashes: []uint64{h + 1}}})
		}
	}
	return l, id
}

func appendSnapshot(s *store.State) []byte {
	s.Names.Lock()
	defer s.Names.Unlock()
	return s.AppendSnapshot(nil)
}

// load fills a new state from a folder.
func load(t *testing.T, files folder.Folder) (*snapshot.Manifest, *store.State) {
	t.Helper()
	m, err := snapshot.Read(files)
	if err != nil || m == nil {
		t.Fatalf("manifest %v: %v", m, err)
	}
	state := store.New()
	l := snapshot.Load(files, m, state)
	if err := errors.Join(l.Failed, l.First()); err != nil {
		t.Fatal(err)
	}
	if lost, err := l.Fill(m, state); err != nil || len(lost) > 0 {
		t.Fatalf("%d lost: %v", len(lost), err)
	}
	return m, state
}

// TestLanes takes snapshots of a door of several lanes: every part comes back with its
// lane, its position there and its version, and positions of parts that change while
// the snapshot is taken are those at which they were copied.
func TestLanes(t *testing.T) {
	files := &folder.Memory{}
	l, id := filled(t, files)
	s := saver(files, l.state)
	last := id + 3
	l.between = func() { // changes a part that was cut and is not copied yet
		l.between = nil
		l.do(t, store.Record{ID: id, Index: 3, Body: &store.FilterAdd{Room: store.Unlimited, Hashes: []uint64{1 << 40}}})
	}
	before := l.seqs
	if err := errors.Join(s.Claim(), s.Take(l)); err != nil {
		t.Fatal(err)
	}
	m, state := load(t, files)
	if !bytes.Equal(appendSnapshot(state), appendSnapshot(l.state)) || !state.Seeded() || state.Names.Seed() != 77 {
		t.Error("another state came back")
	}
	if m.Cluster != 99 || m.Node != 2 || len(m.Lanes) != 3 {
		t.Errorf("came back as %+v", m)
	}
	for i, lane := range m.Lanes {
		if lane.Seq != before[i] || lane.High != l.seqs[i] || len(lane.State) != 1 || lane.State[0] != byte(before[i]) {
			t.Errorf("lane %d came back as %+v, want %d to %d", i, lane, before[i], l.seqs[i])
		}
	}
	e := state.Names.ByID(id)
	for i, p := range contents.Parts(e) {
		it := m.Find(id + uint64(i))
		want := contents.PartAt(l.state.Names.ByID(id), uint32(i)).Version()
		if it == nil || it.Lane != laneOf(it.ID) || it.Position != l.seqs[it.Lane] || it.Version != want || p.Version() != want {
			t.Errorf("part %d came back as %+v with version %d, want %d", i, it, p.Version(), want)
		}
	}
	if it := m.Find(last); it.Position == m.Lanes[it.Lane].Seq {
		t.Error("the part that changed meanwhile has the position of the cut")
	}

	// What did not change is not written again, also after a start.
	sizes := snapshot.Load(files, m, store.New()).Sizes
	l = &lanes{state: state, files: files, seqs: l.seqs}
	s = saver(files, state)
	s.Adopt(m, sizes)
	l.do(t, store.Record{ID: id, Index: 1, Body: &store.FilterAdd{Room: store.Unlimited, Hashes: []uint64{99}}})
	if err := errors.Join(s.Claim(), s.Take(l)); err != nil {
		t.Fatal(err)
	}
	next, state := load(t, files)
	if !bytes.Equal(appendSnapshot(state), appendSnapshot(l.state)) {
		t.Error("another state came back")
	}
	for i := range uint64(4) {
		was, is := m.Find(id+i), next.Find(id+i)
		if (is.File != was.File) != (i == 1) || (is.Version != was.Version) != (i == 1) {
			t.Errorf("part %d: was %+v, is %+v", i, was, is)
		}
	}
	var st status.Disk
	if s.Status(&st); st.Snapshots != 1 || st.Saving || st.Err != nil || s.Position() != next.Position() {
		t.Errorf("status %+v, position %d", st, s.Position())
	}
}

// TestOneAtATime asks that a snapshot is not begun while another is taken, and that one
// that fails leaves the last in place.
func TestOneAtATime(t *testing.T) {
	disk := powercut.New(1)
	l, id := filled(t, disk)
	s := saver(disk, l.state)
	if err := s.Claim(); err != nil || !s.Running() {
		t.Fatal(err)
	}
	if err := s.Claim(); !errors.Is(err, status.ErrSaving) {
		t.Errorf("%v, want %v", err, status.ErrSaving)
	}
	if err := s.Take(l); err != nil || s.Running() {
		t.Fatal(err)
	}
	want := appendSnapshot(l.state)
	l.do(t, store.Record{ID: id, Body: &store.FilterAdd{Room: store.Unlimited, Hashes: []uint64{1000}}})
	full := errors.New("full")
	disk.Fail = func(op, name string) error {
		if op == "write" && strings.HasPrefix(name, folder.Manifest) {
			return full
		}
		return nil
	}
	if err := errors.Join(s.Claim(), s.Take(l)); !errors.Is(err, full) {
		t.Fatalf("%v, want %v", err, full)
	}
	if _, failing := s.Failing(); !failing {
		t.Error("the failure is not known")
	}
	if err := s.Verify(); err != nil {
		t.Error(err)
	}
	if _, state := load(t, disk); !bytes.Equal(appendSnapshot(state), want) {
		t.Error("another state came back")
	}
	names, err := disk.List()
	if err != nil || s.Missing(names) != nil {
		t.Error(err, s.Missing(names))
	}
	disk.Fail = nil
	if err := disk.Remove(folder.PartName(0)); err != nil {
		t.Fatal(err)
	}
	if names, err = disk.List(); err != nil || s.Missing(names) == nil || s.Verify() == nil {
		t.Errorf("a part file is missing: %v", err)
	}
	if err := errors.Join(s.Claim(), s.Take(l)); err != nil {
		t.Fatal(err)
	}
	if _, state := load(t, disk); !bytes.Equal(appendSnapshot(state), appendSnapshot(l.state)) {
		t.Error("what was in the file that is missing was not written again")
	}
}

// TestHold holds the files of a snapshot while the next one removes them.
func TestHold(t *testing.T) {
	disk := folder.Disk(t.TempDir())
	l, id := filled(t, disk)
	s := saver(disk, l.state)
	if err := errors.Join(s.Claim(), s.Take(l)); err != nil {
		t.Fatal(err)
	}
	want := appendSnapshot(l.state)
	h, err := snapshot.Hold(disk, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint32(4) {
		l.do(t, store.Record{ID: id, Index: i, Body: &store.FilterAdd{Room: store.Unlimited, Hashes: []uint64{1 << 50}}})
	}
	l.do(t, store.Record{Body: &store.Remove{Names: [][]byte{[]byte("s")}}})
	if err := errors.Join(s.Claim(), s.Take(l)); err != nil {
		t.Fatal(err)
	}
	copied := &folder.Memory{}
	for i, r := range h.Readers {
		data, err := io.ReadAll(r)
		if err != nil || int64(len(data)) != r.Size() {
			t.Fatalf("%s: %d bytes of %d: %v", h.Names[i], len(data), r.Size(), err)
		}
		copied.Put(h.Names[i], data)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if m, state := load(t, copied); !bytes.Equal(appendSnapshot(state), want) || m.Number != h.Manifest.Number {
		t.Error("another state came back")
	}
}

// TestSnapshotWaitsForADump takes a snapshot while a DUMP copies a sketch: it waits until
// that is over.
func TestSnapshotWaitsForADump(t *testing.T) {
	disk := powercut.New(1)
	l, _ := filled(t, disk)
	defer l.state.Discard()
	res := l.do(t, store.Record{Body: &store.Make{As: store.OpTopK, Name: []byte("k"), Header: redisbloom.AppendTopKHeader(nil, redisbloom.TopKParams{K: 1, Width: 10, Depth: 2, Decay: 0.9})}})
	p := contents.PartOf(res.Entry)
	p.Lock()
	frozen, err := p.Freeze()
	p.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	l.between = func() {
		if asked++; asked == 10 {
			p.Lock()
			_ = frozen.Close()
			p.Unlock()
		}
	}
	if err := saver(disk, l.state).Take(l); err != nil {
		t.Errorf("a snapshot while a DUMP is made: %v", err)
	}
	if m, err := snapshot.Read(disk); err != nil || m == nil || len(m.Items) != 6 {
		t.Errorf("the snapshot: %v", err)
	}
}

// TestFirstSnapshotOfWhatIsGone deletes the only filter while the first snapshot is taken,
// before any part file was made: the manifest can be read.
func TestFirstSnapshotOfWhatIsGone(t *testing.T) {
	files := &folder.Memory{}
	l := &lanes{state: store.New(), files: files}
	defer l.state.Discard()
	l.do(t, store.Record{Body: &store.Seed{Seed: 77}})
	l.do(t, store.Record{Body: &store.Make{As: store.OpTopK, Name: []byte("k"), Header: redisbloom.AppendTopKHeader(nil, redisbloom.TopKParams{K: 1, Width: 10, Depth: 2, Decay: 0.9})}})
	l.between = func() { l.do(t, store.Record{Body: &store.Remove{Names: [][]byte{[]byte("k")}}}) }
	s := saver(files, l.state)
	if err := s.Take(l); err != nil {
		t.Fatal(err)
	}
	m, state := load(t, files)
	defer state.Discard()
	if len(m.Items) != 1 || !m.Items[0].Gone || m.Next == 0 {
		t.Errorf("the snapshot: %+v", m)
	}
	l.between = nil
	l.do(t, store.Record{Body: &store.Set{String: store.String{Name: []byte("s"), Value: []byte("text")}}})
	if err := s.Take(l); err != nil {
		t.Fatal(err)
	}
	if m, err := snapshot.Read(files); err != nil || len(m.Items) != 1 || m.Items[0].Gone {
		t.Errorf("the next snapshot: %+v, %v", m, err)
	}
	m.Next = 0 // as releases before this one wrote it
	if _, err := decode(encode(t, m)); err != nil {
		t.Error(err)
	}
}
