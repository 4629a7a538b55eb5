package cluster

// Snapshots: when they are taken, what is in them, starts with them, and which folders a
// node refuses.

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
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/door/local"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/snapshot"
	"github.com/bloomery/bloomery/server/internal/store"
)

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
				if err := do(list[0].Door, &door.Op{Record: store.Record{Body: &store.Set{String: store.String{Name: []byte(fmt.Sprint("k", i%4)), Value: text}}}}); err != nil {
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

// TestRestart restarts nodes from snapshots of different ages: contents, tables of
// senders, versions of parts and numbers of nodes come back.
func TestRestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		list := started(t, 3)
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
		list := started(t, 2)
		list[0].fill(1)
		src := removing{source{list[0].Door}, func() {
			if err := do(list[0].Door, &door.Op{Record: store.Record{Body: &store.Remove{Names: [][]byte{[]byte("cuckoo3"), []byte("parts")}}}}); err != nil {
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
			list := started(t, 2)
			cut := false
			freezing := func() {
				if !cut {
					cut = true
					list[1].fill(1)
					synctest.Wait()
				}
			}
			list[0].source = meddling{source: source{list[0].Door}, freezing: freezing, namesFirst: namesFirst}
			list[0].save()
			list[0].kill()
			list[0].start()
			synctest.Wait()
			if same := bytes.Equal(all(list[0].Door), all(list[1].Door)); same == namesFirst {
				t.Errorf("names first %v: the nodes are equal: %v", namesFirst, same)
			}
		})
	}
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

// TestLastSave asks that a node which has taken no snapshot yet gives the time of its start
// for the last one, as Redis does, and later that of the snapshot, across starts.
func TestLastSave(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := machines(t, 1)[0]
		saved := func(want time.Time, when string) {
			t.Helper()
			if got := m.Status().Saved; got.Unix() != want.Unix() {
				t.Errorf("%s the last snapshot is of %v, want %v", when, got, want)
			}
		}
		began := time.Now()
		m.start()
		time.Sleep(time.Minute)
		saved(began, "before the first one")
		m.kill()
		time.Sleep(time.Minute)
		began = time.Now()
		m.start() // the folder keeps the number of the node
		saved(began, "after a start without one")
		time.Sleep(time.Minute)
		taken := time.Now()
		m.save()
		saved(taken, "after the first one")
		m.kill()
		time.Sleep(time.Minute)
		m.start()
		saved(taken, "after a start with one")
	})
}

// rotten is a folder whose disk gives back other bytes than were written, if it is.
type rotten struct {
	folder.Files
	suffix string // of the files
	is     atomic.Bool
}

func (r *rotten) Open(name string) (folder.Reader, error) {
	if !r.is.Load() || !strings.HasSuffix(name, r.suffix) {
		return r.Files.Open(name)
	}
	data, err := folder.ReadFile(r.Files, name, nil)
	if err != nil {
		return nil, err
	}
	data[len(data)/2] ^= 1
	files := &folder.Memory{}
	files.Put(name, data)
	return files.Open(name)
}

// TestUnreadableSnapshots asks that a snapshot which cannot be read back does not count: the
// log keeps what it has, the one before it stays, an operator is told, and the next one that
// can be read lets the log go on.
func TestUnreadableSnapshots(t *testing.T) {
	for _, suffix := range []string{".part", folder.ManifestTemp} {
		bubble(t, func(t *testing.T) {
			list := machines(t, 2)
			disk := &rotten{Files: list[1].files, suffix: suffix}
			list[1].files = disk
			for _, m := range list {
				m.start()
			}
			list[0].fill(1)
			for _, m := range list {
				m.save()
			}
			time.Sleep(time.Minute)
			first := func() uint64 {
				first, _, err := list[0].config.Log.Head(0)
				if err != nil {
					t.Fatal(err)
				}
				return first
			}
			purged, kept := first(), list[1].catalogue().kept.Load()
			before, err := snapshot.Read(disk)
			if err != nil {
				t.Fatal(err)
			}

			disk.is.Store(true)
			list[0].fill(2)
			list[0].save()
			synctest.Wait()
			if err := list[1].Snapshot(); !errors.Is(err, bloomery.ErrCorrupt) {
				t.Errorf("%s: a snapshot that cannot be read back: %v", suffix, err)
			}
			time.Sleep(time.Minute)
			if got := list[1].catalogue().kept.Load(); got != kept {
				t.Errorf("%s: what cannot be read is said to be kept, up to %d", suffix, got)
			}
			if got := first(); got != purged {
				t.Errorf("%s: the log was purged up to %d for a snapshot that cannot be read", suffix, got)
			}
			if got := fmt.Sprint(list[1].Cluster().Problems); !strings.Contains(got, "the last snapshot of this node failed") {
				t.Errorf("%s: problems %q", suffix, got)
			}
			disk.is.Store(false)
			if m, err := snapshot.Read(disk); err != nil || m.Number != before.Number || snapshot.Check(disk, m) != nil {
				t.Errorf("%s: the snapshot before is gone: %v", suffix, err)
			}

			list[1].save()
			time.Sleep(time.Minute)
			if got := first(); got == purged || len(list[1].Cluster().Problems) > 0 {
				t.Errorf("%s: after a snapshot that can be read the log begins at %d, problems %q", suffix, got, list[1].Cluster().Problems)
			}
			list[1].kill()
			list[1].start()
			equal(t, list)
		})
	}
}
