package cluster

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/foreign/redisbloom"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/door/local"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/snapshot"
	"github.com/bloomery/bloomery/server/internal/store"
)

// machine is a node that can be killed and started again: its folder stays.
type machine struct {
	*Door
	t     *testing.T
	log   *memlog.Log
	peers *memlog.Peers
	files folder.Files
	node  *memlog.Node
	hooks hooks

	follows bool

	laneBytes, saveAfter int64 // of Config; no snapshots are due without the latter
}

// TestStreamsNeverFill asks that snapshots are taken, and the log is purged, before a
// stream is full: with much more data than a stream holds, and with a node away.
func TestStreamsNeverFill(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const laneBytes = 256 << 10
		list := machines(t, 3)
		for _, m := range list {
			m.laneBytes, m.saveAfter = laneBytes, 1<<40 // never for the size of the data
			m.start()
		}
		text := make([]byte, 8<<10)
		write := func(times int) {
			t.Helper()
			for i := range times {
				if err := do(list[0].Door, &door.Op{Record: store.Record{Op: store.OpSet, Name: []byte(fmt.Sprint("k", i%4)), Value: text}}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
				first, last, err := list[0].config.Log.Head(0)
				if err != nil {
					t.Fatal(err)
				}
				if n := (last + 1 - first) * uint64(len(text)); n > laneBytes {
					t.Fatalf("after %d writes there are %d bytes in a stream that holds %d", i, n, laneBytes)
				}
			}
		}
		write(200)
		list[2].kill()
		write(200) // in less than the hour for which an absent node is waited for
		list[2].start()
		equal(t, list)
	})
}

// machines returns n nodes of a new cluster that have not been started.
func machines(t *testing.T, n int) []*machine {
	t.Helper()
	log, peers := memlog.New(1, memlog.Faults{}), &memlog.Peers{}
	var list []*machine
	for range n {
		list = append(list, &machine{t: t, log: log, peers: peers, files: &folder.Memory{}})
	}
	t.Cleanup(func() {
		for _, m := range list {
			m.kill()
		}
	})
	return list
}

// tryStart starts the process of a node.
func (m *machine) tryStart() error {
	m.t.Helper()
	m.node = m.log.Node(ErrFull)
	d, err := Open(Config{
		State: store.New(), Log: m.node, Peers: m.peers, Files: m.files, SnapshotAfter: cmp.Or(m.saveAfter, -1), LaneBytes: m.laneBytes, Lanes: 3,
		Name: "n", Follows: m.follows, hooks: m.hooks,
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(m.t.Context(), time.Minute)
	defer cancel()
	if err = d.Start(ctx, nil); err != nil {
		m.node.Kill()
		m.node.Wait()
		return err
	}
	m.Door = d
	return nil
}

func (m *machine) start() {
	m.t.Helper()
	if err := m.tryStart(); err != nil {
		m.t.Fatal(err)
	}
}

// kill ends the process, as kill -9 does: nothing is saved.
func (m *machine) kill() {
	if m.Door == nil {
		return
	}
	m.node.Kill()
	if err := m.Close(); err != nil {
		m.t.Error(err)
	}
	m.node.Wait()
	m.state.Discard()
	m.Door = nil
}

// save takes a snapshot when the node has all that others have sent.
func (m *machine) save() {
	m.t.Helper()
	synctest.Wait()
	if err := m.Snapshot(); err != nil {
		m.t.Fatal(err)
	}
}

// fill changes something in every lane.
func (m *machine) fill(round int) {
	m.t.Helper()
	if err := m.FreshNames(); err != nil { // another node may have made them
		m.t.Fatal(err)
	}
	for i := range 6 {
		name := fmt.Sprint("cuckoo", i)
		if !has(m.Door, name) {
			if err := do(m.Door, &door.Op{Record: store.Record{Op: store.OpCuckoo, Name: []byte(name), Cuckoo: redisbloom.CuckooParams{Capacity: 1024, BucketSize: 2, MaxIterations: 20}}}); err != nil {
				m.t.Fatal(err)
			}
		}
		id := m.state.Names.Lookup([]byte(name), 0).ID
		insert := &door.Op{Record: store.Record{Op: store.OpInsert, ID: id, Room: store.Unlimited, Hashes: []uint64{uint64(round*100 + i), uint64(round*100 + i + 50)}}}
		if err := do(m.Door, insert, set(fmt.Sprint("text", round, i))); err != nil {
			m.t.Fatal(err)
		}
	}
	if !has(m.Door, "parts") {
		outline, err := codec.AppendOutline(nil, bloom.New(1000, 0.01))
		if err != nil {
			m.t.Fatal(err)
		}
		if err := do(m.Door, &door.Op{Record: store.Record{Op: store.OpFilter, Name: []byte("parts"), Value: store.AppendCreation(nil, &store.Plan{Parts: 2}, outline)}}); err != nil {
			m.t.Fatal(err)
		}
	}
	id := m.state.Names.Lookup([]byte("parts"), 0).ID
	for i := range uint32(4) {
		if err := do(m.Door, &door.Op{Record: store.Record{Op: store.OpFilterAdd, ID: id, Index: i, Room: store.Unlimited, Hashes: []uint64{uint64(round)}}}); err != nil {
			m.t.Fatal(err)
		}
	}
}

// equal asks that nodes that have all messages are equal.
func equal(t *testing.T, list []*machine) {
	t.Helper()
	synctest.Wait()
	want := all(list[0].Door)
	for i, m := range list {
		if got := all(m.Door); !bytes.Equal(got, want) {
			t.Errorf("node %d differs from the first", i)
		}
	}
}

// all returns whatever has to be equal on all nodes, with versions of parts.
func all(d *Door) (b []byte) {
	for _, l := range d.all() {
		l.still(func(seq uint64) {
			b = fmt.Appendf(b, "%d %d ", l.number, seq)
			b = l.appendSenders(b)
		})
	}
	d.state.Names.Lock()
	defer d.state.Names.Unlock()
	for _, e := range d.state.Names.All() {
		for _, p := range store.Parts(e) {
			b = fmt.Appendf(b, "%d:%d ", e.ID, p.Version())
		}
	}
	b = store.AppendRoster(b, d.state.Roster())
	return d.state.AppendSnapshot(b)
}

// TestRestart restarts nodes from snapshots of different ages: contents, tables of
// senders, versions of parts and numbers of nodes come back.
func TestRestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		list := machines(t, 3)
		for _, m := range list {
			m.start()
		}
		list[0].fill(1)
		list[0].save()
		list[1].fill(2)
		list[1].save()
		list[2].fill(3)
		for round, m := range list {
			number := m.number.Load()
			m.kill()
			list[(round+1)%3].fill(10 + round)
			m.start()
			if m.number.Load() != number {
				t.Errorf("node %d came back as %d", number, m.number.Load())
			}
		}
		equal(t, list)
		if m, err := snapshot.Read(list[1].files); err != nil || m.Node != list[1].number.Load() || m.Cluster != list[1].id.Load() {
			t.Errorf("manifest %+v: %v", m, err)
		}
		for _, m := range list {
			if err := m.Verify(); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestRemovedWhileSaved removes a filter while its snapshot is taken: the log has the
// record, and a start finds it.
func TestRemovedWhileSaved(t *testing.T) {
	bubble(t, func(t *testing.T) {
		list := machines(t, 2)
		for _, m := range list {
			m.start()
		}
		list[0].fill(1)
		m := &snapshot.Manifest{}
		src := removing{source{list[0].Door}, func() {
			if err := do(list[0].Door, &door.Op{Record: store.Record{Op: store.OpRemove, Names: [][]byte{[]byte("cuckoo3"), []byte("parts")}}}); err != nil {
				t.Error(err)
			}
		}}
		if err := errors.Join(list[0].keep.save.Claim(), list[0].keep.save.Take(src)); err != nil {
			t.Fatal(err)
		}
		m, err := snapshot.Read(list[0].files)
		gone := 0
		for i := range m.Items {
			if m.Items[i].Gone {
				gone++
			}
		}
		if err != nil || gone != 5 {
			t.Fatalf("%d items are gone, want one and four parts: %v", gone, err)
		}
		list[0].kill()
		list[1].fill(2)
		list[0].start()
		equal(t, list)

		// A log that does not have the record is not the log of this snapshot.
		list[0].kill()
		m.Node = list[0].numberOf()
		it := m.Find(list[1].state.Names.Lookup([]byte("cuckoo1"), 0).ID)
		it.Gone = true
		if err := m.Install(list[0].files); err != nil {
			t.Fatal(err)
		}
		if err := list[0].tryStart(); !errors.Is(err, ErrLost) {
			t.Errorf("start: %v, want %v", err, ErrLost)
		}
	})
}

// TestCutOrder makes and fills filters in the middle of a cut. Those that the snapshot
// does not have come from the log, with all that was added to them; if names were copied
// before the lanes are noted, that would be lost.
func TestCutOrder(t *testing.T) {
	for _, namesFirst := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			list := machines(t, 2)
			for _, m := range list {
				m.start()
			}
			list[0].hooks.namesFirst = namesFirst
			cut := false
			list[0].hooks.freezing = func() {
				if !cut {
					cut = true
					list[1].fill(1)
					synctest.Wait()
				}
			}
			list[0].kill()
			list[0].start()
			list[0].save()
			list[0].hooks = hooks{}
			list[0].kill()
			list[0].start()
			synctest.Wait()
			if same := bytes.Equal(all(list[0].Door), all(list[1].Door)); same == namesFirst {
				t.Errorf("names first %v: the nodes are equal: %v", namesFirst, same)
			}
		})
	}
}

// numberOf returns the number that the folder keeps.
func (m *machine) numberOf() uint32 {
	found, err := snapshot.Read(m.files)
	if err != nil {
		m.t.Fatal(err)
	}
	return found.Node
}

// removing is a source that does something between the cut and the first part.
type removing struct {
	source
	then func()
}

func (r removing) Cut(m *snapshot.Manifest, copy func()) error {
	err := r.source.Cut(m, copy)
	r.then()
	return err
}

// TestPurgeAndJoin purges what all have kept: a new node, one that was away for too
// long and one whose folder is damaged fetch what they lack from another.
func TestPurgeAndJoin(t *testing.T) {
	bubble(t, func(t *testing.T) {
		list := machines(t, 5)
		for _, m := range list[:3] {
			m.start()
		}
		list[0].fill(1)
		head := func() uint64 {
			t.Helper()
			first, _, err := list[0].config.Log.Head(1)
			if err != nil {
				t.Fatal(err)
			}
			return first
		}
		list[0].save()
		time.Sleep(time.Minute)
		if head() != 1 {
			t.Fatal("one node has a snapshot, and the log was purged")
		}
		list[1].save()
		list[2].save()
		time.Sleep(time.Minute)
		if head() == 1 {
			t.Fatal("all nodes have a snapshot, and the log was not purged")
		}

		// A node that is away keeps the log back for an hour.
		list[2].kill()
		before := head()
		list[0].fill(2)
		list[0].save()
		list[1].save()
		time.Sleep(50 * time.Minute)
		if head() != before {
			t.Error("the log was purged above the snapshot of a node that is away for 50 minutes")
		}
		time.Sleep(20 * time.Minute)
		if head() == before {
			t.Error("a node that is away for more than an hour keeps the log back")
		}
		list[2].start() // fetches
		if got := list[2].number.Load(); got != 3 {
			t.Errorf("a node that was away came back as %d", got)
		}
		list[3].start() // joins
		if got := list[3].number.Load(); got != 4 {
			t.Errorf("a new node is number %d", got)
		}
		list[0].fill(3)
		equal(t, list[:4])

		// A damaged file is fetched again.
		list[1].save()
		list[1].kill()
		damageParts(t, list[1].files)
		list[1].start()
		equal(t, list[:4])

		// A node that was wiped has another number, and removing the old one lets the
		// log go on.
		list[3].kill()
		list[3].files = &folder.Memory{}
		list[3].start()
		if got := list[3].number.Load(); got != 5 {
			t.Errorf("a node that was wiped is number %d", got)
		}
		if err := do(list[0].Door, &door.Op{Record: store.Record{Op: store.OpLeave, ID: 4}}); err != nil {
			t.Fatal(err)
		}
		before = head()
		list[2].fill(4)
		for _, m := range list[:4] {
			m.save()
		}
		time.Sleep(time.Minute)
		if head() == before {
			t.Error("a node that was removed keeps the log back")
		}
		equal(t, list[:4])
		for _, m := range list[:4] {
			m.keep.mu.Lock()
			if len(m.keep.holds) > 0 {
				t.Errorf("%d holds are left", len(m.keep.holds))
			}
			m.keep.mu.Unlock()
		}

		// Whoever was removed stops, and does not come back.
		victim := list[2]
		if err := do(list[0].Door, &door.Op{Record: store.Record{Op: store.OpLeave, ID: 3}}); err != nil {
			t.Fatal(err)
		}
		<-victim.Failed()
		if err := victim.Serving(); !errors.Is(err, ErrRemoved) {
			t.Errorf("Serving: %v", err)
		}
		victim.kill()
		if err := victim.tryStart(); !errors.Is(err, ErrRemoved) {
			t.Errorf("a node that was removed starts: %v", err)
		}
	})
}

// damageParts changes a byte in the middle of every part file.
func damageParts(t *testing.T, files folder.Files) {
	t.Helper()
	names, err := files.List()
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, name := range names {
		if !strings.HasSuffix(name, ".part") {
			continue
		}
		data, err := folder.ReadFile(files, name, nil)
		if err != nil {
			t.Fatal(err)
		}
		data[len(data)/2] ^= 0x40
		files.(*folder.Memory).Put(name, data)
		count++
	}
	if count == 0 {
		t.Fatal("there is nothing to damage")
	}
}

// TestHeldForOthers asks that what another node fetches keeps the log back until it is
// done or silent for long.
func TestHeldForOthers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		list := machines(t, 2)
		for _, m := range list {
			m.start()
		}
		list[0].fill(1)
		for _, m := range list {
			m.save()
		}
		b, err := list[1].ask(t.Context(), 1, question(askHold))
		if err != nil {
			t.Fatal(err)
		}
		number, files, err := parseHold(b)
		if err != nil || len(files) < 2 {
			t.Fatalf("%d files: %v", len(files), err)
		}
		kept := list[0].all()[1].kept.Load()
		list[0].fill(2)
		list[0].save()
		if got := list[0].all()[1].kept.Load(); got != kept {
			t.Errorf("the log is given up to %d, and another node needs it from %d on", got, kept)
		}
		var text bytes.Buffer
		from := &fetched{1, number}
		if err := list[1].fetchFile(t.Context(), from, 1, files[1].size, &text); err != nil || uint64(text.Len()) != files[1].size {
			t.Errorf("%d bytes of a file that was removed: %v", text.Len(), err)
		}
		for name, q := range map[string][]byte{
			"nothing": {}, "no kind": {9}, "too many numbers": question(askHold, 1), "no hold": question(askRead, 99, 0, 0, 1),
			"no file": question(askRead, number, 1000, 0, 1), "behind the end": question(askRead, number, 1, files[1].size, 1),
			"too much": question(askRead, number, 1, 0, 1<<40), "overflow": question(askRead, number, 1, 1<<63, 1<<63), "cut short": {askRead, 0x80},
		} {
			if b, err := list[1].ask(t.Context(), 1, q); err == nil {
				t.Errorf("%s is answered with %d bytes", name, len(b))
			}
		}
		time.Sleep(holdFor + time.Minute)
		if got := list[0].all()[1].kept.Load(); got <= kept {
			t.Error("a node that asks for nothing keeps the log back for ever")
		}
		if _, err := list[1].ask(t.Context(), 1, question(askRead, number, 1, 0, 1)); err == nil {
			t.Error("the hold has not ended")
		}
	})
}

// TestLeftHolds fetches as a node does that dies each time before it is done: what it
// leaves behind does not keep it out for long, and who still reads is not disturbed.
func TestLeftHolds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		list := machines(t, 2)
		for _, m := range list {
			m.start()
		}
		list[0].fill(1)
		list[0].save()
		hold := func() (uint64, error) {
			b, err := list[1].ask(t.Context(), 1, question(askHold))
			if err != nil {
				return 0, err
			}
			number, _, err := parseHold(b)
			return number, err
		}
		read := func(number uint64) error {
			_, err := list[1].ask(t.Context(), 1, question(askRead, number, 0, 0, 1))
			return err
		}
		var left []uint64
		for range maxHolds {
			number, err := hold()
			if err != nil {
				t.Fatal(err)
			}
			left = append(left, number)
			time.Sleep(time.Second)
		}
		if _, err := hold(); err == nil || err.Error() != errHolds.Error() {
			t.Errorf("one hold more: %v, want %v", err, errHolds)
		}
		time.Sleep(quietFor)
		if err := read(left[0]); err != nil {
			t.Error(err)
		}
		if _, err := hold(); err != nil {
			t.Errorf("a hold while others are quiet: %v", err)
		}
		if err := read(left[0]); err != nil {
			t.Errorf("one that is read from was ended: %v", err)
		}
		if err := read(left[1]); err == nil {
			t.Error("there is one hold too many")
		}
	})
}

// TestFolders asks which folders a node refuses.
func TestFolders(t *testing.T) {
	bubble(t, func(t *testing.T) {
		list := machines(t, 3)
		list[0].start()
		list[0].fill(1)
		list[0].save()
		if _, err := Open(Config{State: store.New(), Log: list[0].node, Files: list[0].files}); !errors.Is(err, folder.ErrLocked) {
			t.Errorf("a folder in use: %v", err)
		}
		single := list[1]
		d, err := local.Open(local.Config{State: store.New(), Files: single.files})
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		if err := single.tryStart(); !errors.Is(err, ErrSingle) {
			t.Errorf("the log of a single server: %v", err)
		}
		other := list[2]
		other.log = memlog.New(2, memlog.Faults{})
		other.start() // of another cluster
		other.kill()
		other.log = list[0].log
		if err := other.tryStart(); !errors.Is(err, ErrOther) {
			t.Errorf("the folder of another cluster: %v", err)
		}
		list[0].kill()
		list[0].log = memlog.New(3, memlog.Faults{})
		if err := list[0].tryStart(); err == nil {
			t.Error("a node with a snapshot starts over a log without streams")
		}
		made := list[0].log.Node(ErrFull)
		if err := made.Lanes(3, true); err != nil {
			t.Fatal(err)
		}
		if err := list[0].tryStart(); !errors.Is(err, ErrLost) {
			t.Errorf("a node with a snapshot over an empty log: %v, want %v", err, ErrLost)
		}
	})
}

// TestFetchCut ends a fetch at every write: the node starts all the same, under its
// number.
func TestFetchCut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		list := machines(t, 3)
		for _, m := range list {
			m.start()
		}
		list[0].fill(1)
		for _, m := range list {
			m.save()
		}
		time.Sleep(5 * time.Second)
		list[2].kill()
		list[0].fill(2)
		list[0].save()
		list[1].save()
		time.Sleep(2 * time.Hour) // purged
		old := list[2].files.(*folder.Memory)
		for cut := 0; ; cut++ {
			files := &failing{Memory: old.Copy(), left: cut}
			list[2].files = files
			err := list[2].tryStart()
			if err == nil {
				if cut < 5 {
					t.Errorf("the fetch took %d steps", cut)
				}
				break
			}
			if !errors.Is(err, errBroken) {
				t.Fatalf("cut %d: %v", cut, err)
			}
			list[2].files = files.Memory
			list[2].start()
			if got := list[2].number.Load(); got != 3 {
				t.Fatalf("cut %d: came back as node %d", cut, got)
			}
			equal(t, list)
			list[2].kill()
		}
		equal(t, list)
	})
}

var errBroken = errors.New("the disk is broken")

// failing is a folder that fails for good after some operations.
type failing struct {
	*folder.Memory
	left int
}

func (f *failing) step() error {
	if f.left--; f.left < 0 {
		return errBroken
	}
	return nil
}

func (f *failing) Create(name string) (folder.File, error) {
	if err := f.step(); err != nil {
		return nil, err
	}
	return f.Memory.Create(name)
}

func (f *failing) Rename(from, to string) error {
	if err := f.step(); err != nil {
		return err
	}
	return f.Memory.Rename(from, to)
}

func (f *failing) Remove(name string) error {
	if err := f.step(); err != nil {
		return err
	}
	return f.Memory.Remove(name)
}

func (f *failing) Sync() error { return f.step() }

func (f *failing) Lock() (io.Closer, error) { return f.Memory.Lock() }
