package cluster

// What nodes fetch from others, what is held for them meanwhile, and when the log is
// purged.

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/folder/powercut"
	"github.com/bloomery/bloomery/server/internal/snapshot"
	"github.com/bloomery/bloomery/server/internal/store"
)

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
		if err := do(list[0].Door, &door.Op{Record: store.Record{Body: &store.Leave{Node: 4}}}); err != nil {
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
		if err := do(list[0].Door, &door.Op{Record: store.Record{Body: &store.Leave{Node: 3}}}); err != nil {
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
		list := started(t, 2)
		list[0].fill(1)
		for _, m := range list {
			m.save()
		}
		b, err := list[1].ask(t.Context(), 1, question(askHold), 0)
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
			if b, err := list[1].ask(t.Context(), 1, q, 0); err == nil {
				t.Errorf("%s is answered with %d bytes", name, len(b))
			}
		}
		time.Sleep(holdFor + time.Minute)
		if got := list[0].all()[1].kept.Load(); got <= kept {
			t.Error("a node that asks for nothing keeps the log back for ever")
		}
		if _, err := list[1].ask(t.Context(), 1, question(askRead, number, 1, 0, 1), 0); err == nil {
			t.Error("the hold has not ended")
		}
	})
}

// TestLeftHolds fetches as a node does that dies each time before it is done: what it
// leaves behind does not keep it out for long, and who still reads is not disturbed.
func TestLeftHolds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		list := started(t, 2)
		list[0].fill(1)
		list[0].save()
		hold := func() (uint64, error) {
			b, err := list[1].ask(t.Context(), 1, question(askHold), 0)
			if err != nil {
				return 0, err
			}
			number, _, err := parseHold(b)
			return number, err
		}
		read := func(number uint64) error {
			_, err := list[1].ask(t.Context(), 1, question(askRead, number, 0, 0, 1), 0)
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

// TestFetchCut ends a fetch at every write: the node starts all the same, under its
// number.
func TestFetchCut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		list := started(t, 3)
		list[0].fill(1)
		for _, m := range list {
			m.save()
		}
		time.Sleep(5 * time.Second)
		list[2].kill()
		list[2].unclaimed = true // it is started with the same folder again and again
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
			intact(t, files.Memory)
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

// intact asks that a folder has a snapshot all of which can be read, and returns it.
func intact(t *testing.T, files folder.Folder) *snapshot.Manifest {
	t.Helper()
	m, err := snapshot.Read(files)
	if err == nil && !isSnapshot(m) {
		err = errors.New("there is none")
	}
	if err == nil {
		err = snapshot.Check(files, m)
	}
	if err != nil {
		t.Fatalf("the snapshot of the node: %v", err)
	}
	return m
}

// away returns three nodes, of which the last one is down and needs the snapshot of another.
func away(t *testing.T, disk folder.Files) []*machine {
	t.Helper()
	list := machines(t, 3)
	list[2].files = disk
	for _, m := range list {
		m.start()
	}
	list[0].fill(1)
	for _, m := range list {
		m.save()
	}
	time.Sleep(5 * time.Second)
	list[2].kill()
	list[2].unclaimed = true // it is started with the same folder again and again
	list[0].fill(2)
	list[0].save()
	list[1].save()
	time.Sleep(2 * time.Hour) // purged
	return list
}

// mute is peers of which no answer comes any more after some.
type mute struct {
	*memlog.Peers
	left atomic.Int32
}

func (p *mute) Ask(ctx context.Context, node uint32, q []byte) ([]byte, error) {
	if p.left.Add(-1) < 0 {
		return nil, errors.New("it does not answer")
	}
	return p.Peers.Ask(ctx, node, q)
}

// TestFetchOfPeersThatDie has all other nodes die while a node fetches, at every question: it
// has what it had before, so that its data is not lost with theirs.
func TestFetchOfPeersThatDie(t *testing.T) {
	bubble(t, func(t *testing.T) {
		list := away(t, &folder.Memory{})
		old := list[2].files.(*folder.Memory)
		before := intact(t, old)
		names, _ := old.List()
		peers := &mute{Peers: list[2].peers}
		for left := int32(0); ; left++ {
			peers.left.Store(left)
			files := old.Copy()
			node := list[2].log.Node(ErrFull)
			d, err := Open(Config{State: store.New(), Log: node, Peers: peers, Files: files, Lanes: 3, Name: "n", SnapshotAfter: -1})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			err = d.Start(ctx, nil)
			cancel()
			if err == nil {
				node.Kill()
				_ = d.Close()
				node.Wait()
				if left < 3 {
					t.Errorf("a node starts after %d answers", left)
				}
				return
			}
			node.Kill()
			node.Wait()
			if after := intact(t, files); after.Number != before.Number || after.Node != before.Node {
				t.Fatalf("%d answers: another snapshot is left", left)
			}
			if got, _ := files.List(); !slices.Equal(got, names) {
				t.Fatalf("%d answers: files %q are left, want %q", left, got, names)
			}
		}
	})
}

// TestFetchPowerCut cuts the power at every step of a fetch: the folder has the snapshot of
// before or the one that was fetched, and the node starts with it under its number.
func TestFetchPowerCut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		seed := powercut.New(7)
		list := away(t, seed)
		copied := func(n uint64) *powercut.Disk {
			disk := powercut.New(n)
			names, _ := seed.List()
			for _, name := range names {
				data, err := folder.ReadFile(seed, name, nil)
				if err != nil {
					t.Fatal(err)
				}
				f, _ := disk.Create(name)
				_, _ = f.Write(data)
				_ = f.Sync()
			}
			_ = disk.Sync()
			return disk
		}
		for cut := 0; ; cut++ {
			disk := copied(uint64(cut))
			disk.CutAfter(cut)
			list[2].files = disk
			if err := list[2].tryStart(); err == nil {
				list[2].kill()
				break
			} else if !errors.Is(err, powercut.ErrPower) {
				t.Fatalf("cut %d: %v", cut, err)
			}
			list[2].files = disk.Restart()
			if m := intact(t, list[2].files); m.Node != 3 {
				t.Fatalf("cut %d: the folder is that of node %d", cut, m.Node)
			}
			list[2].start()
			equal(t, list)
			list[2].kill()
		}
	})
}

// TestFetchWithoutRoom asks that a node whose disk has no room for what it has and what it
// fetches says so, keeps what it has, and leaves nothing of the other.
func TestFetchWithoutRoom(t *testing.T) {
	bubble(t, func(t *testing.T) {
		disk := powercut.New(7)
		list := away(t, disk)
		before, _ := disk.List()
		disk.Fail = func(op, name string) error {
			if _, part := folder.ParsePartName(name); part && op == "write" {
				return powercut.ErrShort
			}
			return nil
		}
		err := list[2].tryStart()
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "no room for") || !strings.Contains(err.Error(), "make room") {
			t.Errorf("start: %v", err)
		}
		disk.Fail = nil
		intact(t, disk)
		if after, _ := disk.List(); !slices.Equal(after, before) {
			t.Errorf("files %q are left, want %q", after, before)
		}
		list[2].start()
		equal(t, list)
	})
}
