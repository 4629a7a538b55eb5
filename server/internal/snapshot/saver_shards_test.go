package snapshot_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/snapshot"
	"github.com/bloomery/bloomery/server/internal/store"
)

// inCluster makes l the door of node 1 of a cluster of three, all of whose nodes hold
// everything of shards, two copies to be.
func inCluster(t *testing.T, l *lanes) {
	t.Helper()
	l.state.SetNode(1)
	l.do(t, store.Record{Body: &store.Birth{ID: 99, Seed: 7, Lanes: 2}})
	for i := range int64(3) {
		l.do(t, store.Record{Body: &store.Join{Nonce: i + 1, Level: store.LevelShards}})
		l.do(t, store.Record{Body: &store.Session{Node: uint64(i + 1), Nonce: i + 1}})
	}
	l.do(t, store.Record{Body: &store.Level{Level: store.LevelShards}})
	l.do(t, store.Record{Body: &store.ShardCopies{Copies: 2}})
}

// free takes a shard from node 1.
func (l *lanes) free(t *testing.T, shard int) {
	t.Helper()
	place := l.state.Roster().Shards.Places[shard]
	l.do(t, store.Record{Body: &store.ShardRetire{Node: 1, Shard: uint64(shard), Version: place.Version}})
	l.do(t, store.Record{Body: &store.ShardFree{Node: 1, Shard: uint64(shard), Since: place.Copy(1).Since}})
	l.state.Sweep()
}

// learn has node 1 learn a shard.
func (l *lanes) learn(t *testing.T, shard int) roster.Held {
	t.Helper()
	n := l.do(t, store.Record{Body: &store.ShardLearn{Node: 1, Shard: uint64(shard), Version: l.state.Roster().Shards.Places[shard].Version}}).N
	return roster.Held{Shard: shard, Since: uint64(n)}
}

// spreadLanes is lanes whose manifests are of version 3.
type spreadLanes struct{ *lanes }

func (l spreadLanes) Cut(m *snapshot.Manifest, copy func()) error {
	defer func() { m.Version = snapshot.Version3 }()
	return l.lanes.Cut(m, copy)
}

// elsewhere returns which parts of a filter are not here.
func elsewhere(s *store.State, id uint64) (list []int) {
	for i, p := range contents.Parts(s.Names.ByID(id)) {
		if p.Elsewhere() {
			list = append(list, i)
		}
	}
	return list
}

// TestSnapshotWhileContentsAreSpread asks that a snapshot has all contents, or says which it has,
// that is being taken when contents are spread.
func TestSnapshotWhileContentsAreSpread(t *testing.T) {
	files := &folder.Memory{}
	l, id := filled(t, files)
	shard := contents.PartAt(l.state.Names.ByID(id), 1).Shard()
	l.between = func() {
		l.between = nil
		inCluster(t, l)
		l.free(t, shard)
	}
	s := saverOf(files, l.state, 100)
	if err := errors.Join(s.Claim(), s.Take(spreadLanes{l})); err != nil {
		t.Fatal(err)
	}
	m, again := load(t, files)
	again.SetRoster(l.state.Roster())
	if err := again.Resume(1, m.Held); err != nil || len(m.Held) != 1023 {
		t.Errorf("%d shards are whole, %v", len(m.Held), err)
	}
	if got := elsewhere(again, id); !slices.Equal(got, []int{1}) {
		t.Errorf("parts %v are elsewhere", got)
	}
}

// TestSnapshotOfSomeShards takes snapshots of a node that holds some shards, and gives one up
// meanwhile: what it does not have, or has not whole, is elsewhere, and the rest comes back.
func TestSnapshotOfSomeShards(t *testing.T) {
	for _, small := range []int64{1 << 20, 100} { // parts are packed, or have files of their own
		files := &folder.Memory{}
		l, id := filled(t, files)
		inCluster(t, l)
		outline, err := codec.AppendOutline(nil, bloom.New(1000, 0.01))
		if err != nil {
			t.Fatal(err)
		}
		wide := l.do(t, store.Record{Body: &store.Make{As: store.OpFilter, Name: []byte("wide"), Header: contents.AppendCreation(nil, &contents.Plan{Parts: 2, Replicas: contents.AllReplicas}, outline)}}).Entry.ID
		shard := func(i uint32) int { return contents.PartAt(l.state.Names.ByID(id), i).Shard() }
		l.free(t, shard(1))
		l.free(t, contents.PartAt(l.state.Names.ByID(wide), 1).Shard()) // every node has it all the same
		l.between = func() {
			l.between = nil
			l.free(t, shard(3))
			l.learn(t, shard(3)) // another copy
		}
		s := saverOf(files, l.state, small)
		if err := errors.Join(s.Claim(), s.Take(spreadLanes{l})); err != nil {
			t.Fatal(err)
		}
		m, again := load(t, files)
		again.SetRoster(l.state.Roster())
		if err := again.Resume(1, m.Held); err != nil {
			t.Fatal(err)
		}
		if len(m.Held) != 1021 || slices.ContainsFunc(m.Held, func(h roster.Held) bool { return h.Shard == shard(1) || h.Shard == shard(3) }) {
			t.Errorf("%d shards are whole", len(m.Held))
		}
		if got := elsewhere(again, id); !slices.Equal(got, []int{1, 3}) || len(elsewhere(again, wide)) > 0 {
			t.Errorf("parts %v are elsewhere, and %v of a filter that every node has", got, elsewhere(again, wide))
		}
		for i, p := range contents.Parts(again.Names.ByID(id)) {
			old := contents.PartAt(l.state.Names.ByID(id), uint32(i))
			h, ok := p.Hasher()
			was, _ := old.Hasher()
			if !ok || h.Check() != was.Check() || *p.Plan() != *old.Plan() || p.Row() != old.Row() || p.Made() != old.Made() || p.Shard() != old.Shard() {
				t.Errorf("part %d comes back with plan %+v in shard %d", i, p.Plan(), p.Shard())
			}
			if again.Answers(p) != (i%2 == 0) {
				t.Errorf("part %d: answers %v", i, again.Answers(p))
			}
		}
		if again.Bytes() >= l.state.Bytes()+64 {
			t.Errorf("%d bytes, and there were %d", again.Bytes(), l.state.Bytes())
		}
		if err := store.New().Resume(1, m.Held); err != nil {
			t.Errorf("outside of a cluster: %v", err)
		}
		m.Held = append(m.Held, roster.Held{Shard: shard(1), Since: 1})
		if err := again.Resume(1, m.Held); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("a whole shard without contents: %v", err)
		}
	}
}

// TestSnapshotWhileLearning asks that a snapshot leaves out what is made in a shard that is
// being learned, and has it once that is whole.
func TestSnapshotWhileLearning(t *testing.T) {
	files := &folder.Memory{}
	l, id := filled(t, files)
	inCluster(t, l)
	shard := contents.PartAt(l.state.Names.ByID(id), 2).Shard()
	l.free(t, shard)
	held := l.learn(t, shard)
	if !slices.Equal(elsewhere(l.state, id), []int{2}) || l.state.Learned(held) {
		t.Fatal("the shard is whole without its parts")
	}
	s := saver(files, l.state)
	take := func() (*snapshot.Manifest, *store.State) {
		t.Helper()
		if err := errors.Join(s.Claim(), s.Take(spreadLanes{l})); err != nil {
			t.Fatal(err)
		}
		m, again := load(t, files)
		again.SetRoster(l.state.Roster())
		if err := again.Resume(1, m.Held); err != nil {
			t.Fatal(err)
		}
		return m, again
	}
	outline, err := codec.AppendOutline(nil, bloom.New(1000, 0.01))
	if err != nil {
		t.Fatal(err)
	}
	body := store.StageFilter(&contents.Plan{}, outline)
	body.Placed, body.Base = true, uint64(shard)
	fresh := l.do(t, store.Record{Body: body}).Entry.ID
	l.do(t, store.Record{Body: &store.Reveal{ID: fresh, Name: []byte("fresh"), Whole: true}})
	if len(elsewhere(l.state, fresh)) > 0 || l.state.Answers(contents.PartOf(l.state.Names.ByID(fresh))) {
		t.Error("what is made while a shard is learned is not here, or is asked for")
	}
	if _, again := take(); len(elsewhere(again, fresh)) != 1 {
		t.Error("a snapshot has contents of a shard that is not whole")
	}
	learned := contents.NewPart(contents.PartAt(l.state.Names.ByID(id), 1).Contents())
	if l.state.Count(learned); !l.state.Install(id, 2, learned, held) || !l.state.Learned(held) {
		t.Fatal("a part that was learned is not taken")
	}
	m, again := take()
	if len(elsewhere(again, fresh))+len(elsewhere(again, id)) != 0 || !slices.Contains(m.Held, held) {
		t.Errorf("parts %v are elsewhere, and all are here", elsewhere(again, id))
	}
}

// creating calls a function when a file is made.
type creating struct {
	*folder.Memory
	create func(name string)
}

func (f creating) Create(name string) (folder.File, error) {
	f.create(name)
	return f.Memory.Create(name)
}

// TestMovesWhileItIsWritten asks that a part whose shard goes while it is being written is
// elsewhere, and not removed: no record would say that.
func TestMovesWhileItIsWritten(t *testing.T) {
	files := &folder.Memory{}
	l, id := filled(t, files)
	inCluster(t, l)
	shard := contents.PartAt(l.state.Names.ByID(id), 0).Shard()
	once := false
	s := saverOf(creating{files, func(name string) {
		if _, part := folder.ParsePartName(name); part && !once {
			once = true
			l.free(t, shard)
		}
	}}, l.state, 100)
	if err := errors.Join(s.Claim(), s.Take(spreadLanes{l})); err != nil {
		t.Fatal(err)
	}
	m, again := load(t, files)
	again.SetRoster(l.state.Roster())
	if err := again.Resume(1, m.Held); err != nil || !once {
		t.Fatal(once, err)
	}
	if it := m.Find(id); it.Gone || !it.Elsewhere || !slices.Equal(elsewhere(again, id), []int{0}) {
		t.Errorf("%+v, parts %v are elsewhere", it, elsewhere(again, id))
	}
}
