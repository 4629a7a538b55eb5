package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/cluster/journal"
	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/door/local"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/status"
	"github.com/bloomery/bloomery/server/internal/store"
)

// readCopy makes a copy at a node and reads all of it.
func readCopy(d *Door, stale bool) (*folder.Memory, error) {
	number, list, err := d.OpenCopy(stale)
	if err != nil {
		return nil, err
	}
	defer d.CloseCopy(number)
	files := &folder.Memory{}
	for i, f := range list {
		var data []byte
		for off := int64(0); off < f.Size; off += fetchPiece {
			b, err := d.ReadCopy(number, uint64(i), uint64(off), uint64(min(fetchPiece, f.Size-off)))
			if err != nil {
				return nil, err
			}
			data = append(data, b...)
		}
		files.Put(f.Name, data)
	}
	return files, nil
}

// loadCopy returns the state that a single server recovers from a folder.
func loadCopy(files folder.Folder) (*store.State, error) {
	if err := local.Check(files); err != nil {
		return nil, err
	}
	state := store.New()
	if err := local.Load(files, state, func() error { return nil }); err != nil {
		state.Discard()
		return nil, err
	}
	return state, nil
}

// snapshotOf returns names and contents, which are to be equal, without the members of
// a cluster.
func snapshotOf(state *store.State) []byte {
	state.Names.Lock()
	defer state.Names.Unlock()
	b := state.AppendSnapshot(nil)
	if r := state.Roster(); r != nil {
		b = bytes.TrimSuffix(b, roster.Append(nil, r))
	}
	return b
}

// TestCopy copies a node while every kind of change is made: the copy has the state at
// its end, and a single server opens it.
func TestCopy(t *testing.T) {
	bubble(t, func(t *testing.T) {
		list := started(t, 2)
		list[0].fill(1)
		if err := do(list[0].Door, set("first"), set("second"), set("third")); err != nil {
			t.Fatal(err)
		}
		frozen := 0
		list[1].source = meddling{source: source{list[1].Door}, freezing: func() {
			if frozen++; frozen > 1 {
				list[0].changeAll(frozen)
				synctest.Wait() // the node that is copied has it too
			}
		}}
		files, err := readCopy(list[1].Door, false)
		if err != nil {
			t.Fatal(err)
		}
		if frozen < 8 {
			t.Fatalf("%d changes were made meanwhile", frozen)
		}
		state, err := loadCopy(files)
		if err != nil {
			t.Fatal(err)
		}
		defer state.Discard()
		if !bytes.Equal(snapshotOf(state), snapshotOf(list[1].state)) {
			t.Error("the copy differs from its node")
		}
		if state.Roster() != nil {
			t.Error("the copy belongs to a cluster")
		}
		if left := leftOver(t, list[1].files); left != "" {
			t.Errorf("%s is left in the folder", left)
		}
		if again, err := readCopy(list[1].Door, true); err != nil || len(again.Bytes(folder.Manifest)) == 0 {
			t.Errorf("another copy: %v", err)
		}
	})
}

// changeAll changes names and contents, those of filters that are being copied too.
func (m *machine) changeAll(round int) {
	m.t.Helper()
	m.fill(round)
	name := []byte(fmt.Sprint("new", round))
	ops := []*door.Op{
		{Record: store.Record{Body: &store.MakeCuckoo{Name: name, Params: redisbloom.CuckooParams{Capacity: 64, BucketSize: 2, MaxIterations: 20}}}},
		{Record: store.Record{Body: &store.Rename{From: []byte(fmt.Sprint("cuckoo", round%3)), To: []byte("first")}}},
		{Record: store.Record{Body: &store.Remove{Names: [][]byte{[]byte(fmt.Sprint("cuckoo", (round+1)%3)), []byte("second")}}}},
		{Record: store.Record{Body: &store.Expire{Name: name, Deadline: 1 << 50}}},
	}
	for _, op := range ops {
		if err := do(m.Door, op); err != nil && !errors.Is(err, store.ErrMissing) {
			m.t.Fatal(err)
		}
	}
}

// leftOver returns a file in the folder of a node that belongs to a copy.
func leftOver(t *testing.T, files folder.Folder) string {
	t.Helper()
	names, err := files.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, journal.Suffix) {
			return name
		}
	}
	return ""
}

// TestCopyRefused asks when there is no copy, and what is left then.
func TestCopyRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		list := machines(t, 1)
		m := list[0]
		m.start()
		m.fill(1)
		numbers := []uint64{}
		for range maxHolds {
			number, _, err := m.OpenCopy(false)
			if err != nil {
				t.Fatal(err)
			}
			numbers = append(numbers, number)
		}
		if _, _, err := m.OpenCopy(false); !errors.Is(err, errHolds) || !strings.Contains(err.Error(), "there is room in 30 s") && !strings.Contains(err.Error(), "there is room in 31 s") {
			t.Errorf("one more copy: %v", err)
		}
		m.CloseCopy(numbers[0])
		for _, q := range [][4]uint64{{numbers[0], 0, 0, 1}, {numbers[1], 100, 0, 1}, {numbers[1], 0, 1 << 60, 1}, {numbers[1], 0, 0, fetchPiece + 1}} {
			if _, err := m.ReadCopy(q[0], q[1], q[2], q[3]); err == nil {
				t.Errorf("ReadCopy%v gives something", q)
			}
		}
		time.Sleep(copyFor + 2*keepEvery) // nobody asks any more
		if _, err := m.ReadCopy(numbers[1], 0, 0, 1); !errors.Is(err, errNoHold) {
			t.Errorf("a copy that nobody has asked for: %v", err)
		}
		if left := leftOver(t, m.files); left != "" {
			t.Errorf("%s is left in the folder", left)
		}
		m.log.SetDown(true)
		if _, _, err := m.OpenCopy(false); !errors.Is(err, door.ErrUnknown) {
			t.Errorf("a copy without quorum: %v", err)
		}
		if _, err := readCopy(m.Door, true); err != nil {
			t.Errorf("a stale copy without quorum: %v", err)
		}
		m.files.(*folder.Memory).Put("0000000000000009-00000000000000000001"+journal.Suffix, []byte("of a process that was killed"))
		m.kill()
		m.log.SetDown(false)
		m.start()
		if left := leftOver(t, m.files); left != "" {
			t.Errorf("%s is left in the folder after a start", left)
		}
	})
}

// TestCopyOnAFullDisk asks that a node whose disk fails at any step of a copy makes
// none, and goes on.
func TestCopyOnAFullDisk(t *testing.T) {
	failed := 0
	for left := range 40 {
		bubble(t, func(t *testing.T) {
			m := machines(t, 1)[0]
			files := &failing{&folder.Memory{}, 1 << 20}
			m.files = files
			m.start()
			m.fill(1)
			files.left = left
			if copied, err := readCopy(m.Door, false); err == nil {
				if _, err := loadCopy(copied); err != nil {
					t.Errorf("a copy that was made after %d steps: %v", left, err)
				}
			} else {
				failed++
			}
			if err := do(m.Door, set("after")); err != nil {
				t.Errorf("a write after a copy that failed: %v", err)
			}
			files.left = 1 << 20
		})
	}
	if failed < 4 || failed > 39 {
		t.Errorf("%d of 40 copies failed", failed)
	}
}

// founded returns three nodes of a cluster that begins with the data of another one,
// and a copy of that. The first of them has it.
func founded(t *testing.T) ([]*machine, []byte) {
	t.Helper()
	old := machines(t, 1)[0]
	old.start()
	old.fill(1)
	deadline := &door.Op{Record: store.Record{Body: &store.Set{String: store.String{Name: []byte("soon"), Value: []byte("v")}, Deadline: time.Now().Add(time.Hour).UnixMilli()}}}
	if err := do(old.Door, deadline); err != nil {
		t.Fatal(err)
	}
	copied, err := readCopy(old.Door, false)
	if err != nil {
		t.Fatal(err)
	}
	old.kill()
	state, err := loadCopy(copied)
	if err != nil {
		t.Fatal(err)
	}
	defer state.Discard()
	list := machines(t, 3)
	list[1].follows, list[2].follows = true, true
	if err := foundOne(list[0].files, state); err != nil {
		t.Fatal(err)
	}
	return list, snapshotOf(state)
}

// foundOne makes a folder the beginning of a cluster of three lanes, in which every node has everything.
func foundOne(files folder.Files, state *store.State) error {
	f, err := NewFounding(3, 0, 0)
	if err != nil {
		return err
	}
	return f.Found(files, state, 0, time.Now)
}

// startAll starts nodes at once, as a new cluster needs it.
func startAll(t *testing.T, list []*machine) {
	t.Helper()
	errs := make(chan error, len(list))
	for _, m := range list {
		go func() { errs <- m.tryStart() }()
	}
	for range list {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
}

// TestFound begins a cluster with the data of another one: every node has all of it,
// the same, also after restarts, and whoever joins later.
func TestFound(t *testing.T) {
	bubble(t, func(t *testing.T) {
		list, want := founded(t)
		startAll(t, list)
		equal(t, list)
		for i, m := range list {
			if !bytes.Equal(snapshotOf(m.state), want) {
				t.Errorf("node %d has other data than the copy", i)
			}
			if e := m.state.Names.Lookup([]byte("soon"), time.Now().UnixMilli()); e == nil || e.When() == 0 {
				t.Errorf("node %d has lost a deadline", i)
			}
		}
		for _, m := range list {
			m.RaiseNew() // the first has begun it
		}
		for i, m := range list {
			if m.fill(i + 2); m.state.Roster().Level != Level {
				t.Errorf("node %d is at level %d", i, m.state.Roster().Level)
			}
		}
		equal(t, list)
		for _, m := range list {
			m.kill()
		}
		startAll(t, list)
		equal(t, list)
		list[0].save()
		list[1].save()
		time.Sleep(10 * time.Second) // the log is purged
		late := &machine{t: t, log: list[0].log, peers: list[0].peers, files: &folder.Memory{}, away: new(atomic.Int64), follows: true}
		defer late.kill()
		late.start()
		equal(t, append(list, late))
		if bytes.Equal(snapshotOf(late.state), want) {
			t.Error("nothing was written")
		}
	})
}

// TestFoundAgain kills the node that has the data before and after it has begun the
// cluster, and starts an empty node that would begin it.
func TestFoundAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		list, want := founded(t)
		if err := list[1].tryStart(); err == nil || !strings.Contains(err.Error(), "deadline") {
			t.Errorf("a node that waits for the first one: %v", err)
		}
		list[0].start()
		list[0].kill()
		if err := list[2].tryStart(); err == nil {
			t.Error("a node serves without the data")
		}
		if state := list[2].files; snapshotFiles(t, state) > 0 {
			t.Error("a node has data that it cannot have")
		}
		startAll(t, list)
		equal(t, list)
		if !bytes.Equal(snapshotOf(list[2].state), want) {
			t.Error("the data differs from the copy")
		}
		empty := &machine{t: t, log: list[0].log, peers: list[0].peers, files: &folder.Memory{}, away: new(atomic.Int64)}
		defer empty.kill()
		empty.start() // it does not begin a cluster that is there
		equal(t, append(list, empty))
	})
}

func snapshotFiles(t *testing.T, files folder.Folder) (n int) {
	t.Helper()
	names, err := files.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if _, ok := folder.ParsePartName(name); ok {
			n++
		}
	}
	return n
}

// TestFoundRefused asks what a folder with restored data is refused for.
func TestFoundRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		list, _ := founded(t)
		first := list[0]
		first.follows = true
		if err := first.tryStart(); !errors.Is(err, ErrNotFirst) {
			t.Errorf("a node that does not begin the cluster: %v", err)
		}
		first.follows = false
		other := machines(t, 1)[0]
		other.start()
		log := first.log
		first.log = other.log
		if err := first.tryStart(); !errors.Is(err, ErrNotNew) {
			t.Errorf("into a cluster that is there: %v", err)
		}
		first.log = log
		first.start()
		first.kill()
		if err := foundOne(first.files, store.New()); !errors.Is(err, ErrNotEmpty) {
			t.Errorf("into a folder with data: %v", err)
		}
		if err := local.Check(first.files); err != nil {
			t.Errorf("what was refused has changed: %v", err)
		}
	})
}

// TestFoundRace has a node begin the cluster while an empty one is about to: that one
// does not go on with nothing.
func TestFoundRace(t *testing.T) {
	bubble(t, func(t *testing.T) {
		list, want := founded(t)
		list[1].follows = false
		d, err := Open(Config{State: store.New(), Log: list[1].log.Node(ErrFull), Files: &folder.Memory{}, Lanes: 3})
		if err != nil {
			t.Fatal(err)
		}
		if err := d.follow(d.catalogue()); err != nil { // it has seen that the log is empty
			t.Fatal(err)
		}
		list[0].start()
		synctest.Wait()
		if err := d.failed(); !errors.Is(err, errFounded) {
			t.Errorf("the other node: %v", err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		startAll(t, list[1:])
		equal(t, list)
		if !bytes.Equal(snapshotOf(list[1].state), want) {
			t.Error("the data differs from the copy")
		}
	})
}

// TestFoundCut lets the disk fail at every step of Found: no node starts on what is
// left, unless that is nothing.
func TestFoundCut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		list, _ := founded(t)
		list[0].start()
		defer list[0].kill()
		whole := false
		for left := 0; !whole; left++ {
			files := &failing{&folder.Memory{}, left}
			err := foundOne(files, list[0].state)
			whole = err == nil
			names, _ := files.List()
			files.left = 1 << 20
			d, opened := Open(Config{State: store.New(), Log: memlog.New(1, memlog.Faults{}).Node(ErrFull), Files: files})
			empty := len(names) == 0 || len(names) == 1 && names[0] == folder.ManifestTemp
			all := opened == nil && isFound(files, d.keep.found) && local.Check(files) == nil
			switch {
			case whole && !all:
				t.Errorf("after %d steps: %v", left, opened)
			case !whole && !errors.Is(err, errBroken):
				t.Errorf("after %d steps: %v", left, err)
			case opened == nil && !empty && !all:
				t.Errorf("after %d steps a node starts on %q", left, names)
			}
			if left > 100 {
				t.Fatal("it never ends")
			}
		}
	})
}

// TestDamagedCopies damages each file of a copy, cuts it short and removes it: none is
// loaded in part.
func TestDamagedCopies(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := started(t, 1)[0]
		frozen := 0
		m.source = meddling{source: source{m.Door}, freezing: func() {
			if frozen++; frozen == 2 {
				if err := do(m.Door, set("meanwhile")); err != nil {
					t.Error(err)
				}
			}
		}}
		m.fill(1)
		copied, err := readCopy(m.Door, false)
		if err != nil {
			t.Fatal(err)
		}
		names, _ := copied.List()
		for _, name := range names {
			data := copied.Bytes(name)
			for what, damage := range map[string]func() []byte{
				"flipped": func() []byte { b := bytes.Clone(data); b[len(b)/2] ^= 1; return b },
				"cut":     func() []byte { return data[:len(data)-1] },
				"empty":   func() []byte { return nil },
			} {
				bad := cloneFiles(copied, names)
				bad.Put(name, damage())
				if state, err := loadCopy(bad); err == nil || !errors.Is(err, bloomery.ErrCorrupt) {
					t.Errorf("%s %s: %v", name, what, err)
					state.Discard()
				}
			}
			bad := cloneFiles(copied, names)
			if err := bad.Remove(name); err != nil {
				t.Fatal(err)
			}
			if _, err := loadCopy(bad); err == nil {
				t.Errorf("without %s it is loaded", name)
			}
		}
	})
}

func cloneFiles(files *folder.Memory, names []string) *folder.Memory {
	c := &folder.Memory{}
	for _, name := range names {
		c.Put(name, files.Bytes(name))
	}
	return c
}

// TestCopyOfAStuckNode asks that a client that wants a copy while a snapshot does not end, as
// on a disk that hangs, is answered some day.
func TestCopyOfAStuckNode(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := open(t, memlog.New(1, memlog.Faults{}), Config{Files: &folder.Memory{}})
		if err := d.keep.save.Claim(); err != nil { // and never ends
			t.Fatal(err)
		}
		answered := make(chan error, 1)
		go func() {
			_, _, err := d.OpenCopy(true)
			answered <- err
		}()
		select {
		case err := <-answered:
			if !errors.Is(err, status.ErrSaving) {
				t.Errorf("OpenCopy: %v", err)
			}
		case <-time.After(time.Hour):
			t.Error("there is no answer within an hour")
		}
	})
}
