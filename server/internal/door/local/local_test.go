package local_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/local"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/folder/powercut"
	"github.com/bloomery/bloomery/server/internal/store"
)

func open(tb testing.TB, files folder.Files, fsync local.Fsync) (*store.State, *local.Door) {
	tb.Helper()
	state := store.New()
	d, err := local.Open(local.Config{State: state, Files: files, Fsync: fsync, SnapshotAfter: -1})
	if err != nil {
		tb.Fatal(err)
	}
	return state, d
}

func do(tb testing.TB, d *local.Door, records ...store.Record) *store.Result {
	tb.Helper()
	ops := make([]*door.Op, len(records))
	for i, r := range records {
		ops[i] = &door.Op{Record: r}
	}
	d.Do(ops)
	d.Wait(ops)
	if err := ops[len(ops)-1].Result.Err; err != nil {
		tb.Fatal(err)
	}
	return &ops[len(ops)-1].Result
}

func newBloom(name string, capacity uint64) store.Record {
	return store.Record{Body: &store.MakeBloom{Name: []byte(name), Params: redisbloom.BloomParams{ErrorRate: 0.01, Capacity: capacity, Expansion: 2}}}
}

func add(id uint64, values ...uint64) store.Record {
	o := &store.BloomAdd{Room: store.Unlimited}
	for _, v := range values {
		v = (v + 1) * 0x9e3779b97f4a7c15
		o.Digests = append(o.Digests, redisbloom.Digest{A: v, B: v>>13 | 1})
	}
	return store.Record{ID: id, Body: o}
}

func snapshot(s *store.State) []byte {
	s.Names.Lock()
	defer s.Names.Unlock()
	return s.AppendSnapshot(nil)
}

// same closes a door, opens its files again and asks for the same state.
func same(t *testing.T, files folder.Files, state *store.State, d *local.Door) (*store.State, *local.Door) {
	t.Helper()
	want := snapshot(state)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	again, d := open(t, files, local.EverySecond)
	if got := snapshot(again); !bytes.Equal(got, want) {
		t.Fatalf("another state came back: %d bytes, want %d", len(got), len(want))
	}
	if again.Bytes() != state.Bytes() {
		t.Errorf("recovery counts %d bytes, want %d", again.Bytes(), state.Bytes())
	}
	return again, d
}

// fillSmall makes a state with something of every kind.
func fillSmall(tb testing.TB, d *local.Door) {
	tb.Helper()
	bloom := do(tb, d, newBloom("bloom", 20)).Entry.ID
	do(tb, d, add(bloom, 1, 2, 3))
	cuckoo := do(tb, d, store.Record{Body: &store.MakeCuckoo{Name: []byte("cuckoo"), Params: redisbloom.CuckooParams{Capacity: 16, BucketSize: 2, MaxIterations: 5, Expansion: 1}}}).Entry.ID
	do(tb, d, store.Record{ID: cuckoo, Body: &store.CuckooInsert{Room: store.Unlimited, Hashes: []uint64{7, 8, 9}}})
	do(tb, d, store.Record{Body: &store.Set{String: store.String{Name: []byte("text"), Value: []byte("hello")}, Deadline: 1 << 50}})
	do(tb, d, store.Record{Body: &store.Set{String: store.String{Name: []byte("empty")}}})
}

func TestReopen(t *testing.T) {
	for _, fsync := range modes {
		disk, err := folder.OpenDisk(t.TempDir() + "/made")
		if err != nil {
			t.Fatal(err)
		}
		for _, files := range []folder.Files{&folder.Memory{}, disk} {
			state, d := open(t, files, fsync)
			fillSmall(t, d)
			state, d = same(t, files, state, d)
			if err := d.Snapshot(); err != nil {
				t.Fatal(err)
			}
			state, d = same(t, files, state, d)
			do(t, d, add(1, 4, 5))
			if err := d.Snapshot(); err != nil {
				t.Fatal(err)
			}
			do(t, d, add(1, 6), store.Record{Body: &store.Rename{From: []byte("text"), To: []byte("words")}})
			if err := d.Verify(); err != nil {
				t.Error(err)
			}
			_, d = same(t, files, state, d)
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestLockedFolder(t *testing.T) {
	for _, files := range []folder.Files{&folder.Memory{}, folder.Disk(t.TempDir())} {
		_, d := open(t, files, local.EverySecond)
		if _, err := local.Open(local.Config{State: store.New(), Files: files}); !errors.Is(err, folder.ErrLocked) {
			t.Errorf("second Open: %v, want %v", err, folder.ErrLocked)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		_, d = open(t, files, local.EverySecond)
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCleanPartsStay asks that a snapshot writes only what has changed, and that
// nothing older is left.
func TestCleanPartsStay(t *testing.T) {
	files := &folder.Memory{}
	state, d := open(t, files, local.EverySecond)
	large := do(t, d, newBloom("large", 1_500_000)).Entry.ID // 1.8 MB: a file of its own
	fillSmall(t, d)
	if err := d.Snapshot(); err != nil {
		t.Fatal(err)
	}
	before, _ := files.List()
	do(t, d, add(2, 100))
	if err := d.Snapshot(); err != nil {
		t.Fatal(err)
	}
	after, _ := files.List()
	if got := strings.Join(after, " "); !strings.Contains(got, before[0]) || len(after) != 5 {
		t.Errorf("files %v, then %v: want the large one kept, two packs, a log and the manifest", before, after)
	}
	do(t, d, add(large, 1))
	if err := d.Snapshot(); err != nil {
		t.Fatal(err)
	}
	last, _ := files.List()
	if strings.Contains(strings.Join(last, " "), before[0]) {
		t.Errorf("files %v: %s is left", last, before[0])
	}
	_, d = same(t, files, state, d)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestSnapshotUnderLoad takes snapshots while many goroutines write, make and
// remove filters, large ones among them.
func TestSnapshotUnderLoad(t *testing.T) {
	files := folder.Disk(t.TempDir())
	state, d := open(t, files, local.Never)
	large := do(t, d, newBloom("large", 4_000_000)).Entry.ID
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for g := range uint64(4) {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(g, 0))
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				name := fmt.Sprint("k", rng.IntN(50))
				ops := []*door.Op{{Record: newBloom(name, 50)}, {Record: add(large, rng.Uint64(), rng.Uint64())}}
				if rng.IntN(4) == 0 {
					ops[0].Record = store.Record{Body: &store.Remove{Names: [][]byte{[]byte(name)}}}
				}
				d.Do(ops)
				if e := state.Names.Lookup([]byte(name), 0); e != nil {
					d.Do([]*door.Op{{Record: add(e.ID, rng.Uint64()), Part: contents.PartOf(e)}})
				}
			}
		})
	}
	for range 5 {
		if err := d.Snapshot(); err != nil {
			t.Error(err)
		}
		time.Sleep(5 * time.Millisecond)
	}
	close(stop)
	wg.Wait()
	_, d = same(t, files, state, d)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestFullDisk asks that writes are refused while there is no room, that nothing
// of what was answered before is lost, and that they are taken again.
func TestFullDisk(t *testing.T) {
	for _, cause := range []error{powercut.ErrShort, syscall.ENOSPC, syscall.EIO} {
		disk := powercut.New(1)
		var full atomic.Bool
		disk.Fail = func(op, _ string) error {
			if op == "write" && full.Load() {
				return cause
			}
			return nil
		}
		state, d := open(t, disk, local.Always)
		id := do(t, d, newBloom("k", 100)).Entry.ID
		if err := d.Sync(); err != nil {
			t.Fatal(err)
		}
		full.Store(true)
		do(t, d, add(id, 1))
		if err := d.Sync(); !errors.Is(err, door.ErrRefused) || !errors.Is(err, cause) {
			t.Fatalf("Sync() = %v, want %v", err, cause)
		}
		if err := d.Refuses(); !errors.Is(err, door.ErrRefused) {
			t.Errorf("Refuses() = %v", err)
		}
		do(t, d, add(id, 2)) // one that was on its way
		full.Store(false)
		for deadline := time.Now().Add(time.Minute); d.Refuses() != nil && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
		do(t, d, add(id, 3))
		if err := d.Sync(); err != nil {
			t.Fatal(err)
		}
		_, d = same(t, disk, state, d)
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFailedSyncIsFinal asks that nothing is taken after a sync has failed: the
// system may have dropped what it could not write.
func TestFailedSyncIsFinal(t *testing.T) {
	disk := powercut.New(1)
	var fail atomic.Bool
	disk.Fail = func(op, _ string) error {
		if op == "sync" && fail.Load() {
			return syscall.EIO
		}
		return nil
	}
	state, d := open(t, disk, local.Always)
	id := do(t, d, newBloom("k", 100)).Entry.ID
	fail.Store(true)
	if err := d.Sync(); !errors.Is(err, syscall.EIO) {
		t.Fatalf("Sync() = %v", err)
	}
	fail.Store(false)
	if err := d.Refuses(); !errors.Is(err, door.ErrRefused) {
		t.Errorf("Refuses() = %v", err)
	}
	late := []*door.Op{{Record: add(id, 2)}, {Record: newBloom("late", 100)}} // on their way
	d.Do(late)
	d.Wait(late)
	for _, op := range late {
		if !errors.Is(op.Err, door.ErrRefused) || op.Result.Changed {
			t.Errorf("a record after it: %v, changed %v, want %v", op.Err, op.Result.Changed, door.ErrRefused)
		}
	}
	if items := contents.PartOf(state.Names.ByID(id)).Bloom().Items(); items != 0 || state.Names.Len() != 1 {
		t.Errorf("%d items, %d names: what was refused is there", items, state.Names.Len())
	}
	if err := d.Sync(); !errors.Is(err, door.ErrRefused) {
		t.Errorf("Sync() = %v, want %v", err, door.ErrRefused)
	}
	if err := d.Close(); err == nil {
		t.Error("Close says that all is well")
	}
	_, d = open(t, disk, local.Always)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestSnapshotOnFullDisk asks that a snapshot that fails leaves nothing behind
// and does not stop writes.
func TestSnapshotOnFullDisk(t *testing.T) {
	disk := powercut.New(1)
	var full atomic.Bool
	disk.Fail = func(op, name string) error {
		if op == "write" && full.Load() && strings.HasSuffix(name, ".part") {
			return syscall.ENOSPC
		}
		return nil
	}
	state, d := open(t, disk, local.EverySecond)
	fillSmall(t, d)
	full.Store(true)
	if err := d.Snapshot(); !errors.Is(err, syscall.ENOSPC) || d.Status().Err == nil {
		t.Fatalf("Snapshot() = %v", err)
	}
	names, _ := disk.List()
	for _, name := range names {
		if strings.HasSuffix(name, ".part") {
			t.Errorf("%s is left", name)
		}
	}
	do(t, d, add(1, 50))
	full.Store(false)
	if err := d.Snapshot(); err != nil || d.Status().Err != nil {
		t.Fatal(err)
	}
	_, d = same(t, disk, state, d)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestSnapshotFailsAnywhere lets every operation of a snapshot fail in turn: the
// folder recovers to the same state, the power gone or not.
func TestSnapshotFailsAnywhere(t *testing.T) {
	for n, done := 0, false; !done; n++ {
		for _, power := range []bool{false, true} {
			disk := powercut.New(uint64(n))
			armed, left := false, n
			disk.Fail = func(string, string) error {
				if !armed {
					return nil
				}
				if left--; left >= 0 {
					return nil
				}
				armed = false
				return syscall.EIO
			}
			state := store.New()
			d, err := local.Open(local.Config{State: state, Files: disk, Fsync: local.Always, SnapshotAfter: -1, Manual: true})
			if err != nil {
				t.Fatal(err)
			}
			fillSmall(t, d)
			if err := d.Snapshot(); err != nil {
				t.Fatal(err)
			}
			do(t, d, add(1, 30, 31))
			if err := d.Sync(); err != nil {
				t.Fatal(err)
			}
			armed = true
			_ = d.Snapshot()
			done, armed = armed, false // no operation is left to fail
			want := snapshot(state)
			if power {
				disk = disk.Restart()
			} else {
				disk.Kill()
			}
			again, d := open(t, disk, local.Always)
			if !bytes.Equal(snapshot(again), want) {
				t.Fatalf("operation %d fails (power %v): another state comes back", n, power)
			}
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if done {
			t.Logf("%d operations", n)
		}
	}
}

// TestEveryByteCounts flips every byte of a folder, one at a time: a start is
// refused with the name of the file, or what the byte belonged to is left out
// with a word of it. Nothing else ever comes back.
func TestEveryByteCounts(t *testing.T) {
	files := &folder.Memory{}
	state, d := open(t, files, local.Always)
	fillSmall(t, d)
	if err := d.Snapshot(); err != nil {
		t.Fatal(err)
	}
	do(t, d, add(1, 10))
	do(t, d, add(1, 11))
	if err := d.Sync(); err != nil {
		t.Fatal(err)
	}
	want := snapshot(state)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	names, _ := files.List()
	flipped := 0
	for _, name := range names {
		data := files.Bytes(name)
		for i := range data {
			for _, mask := range []byte{1, 0x80, 0xff} {
				broken := files.Copy()
				data[i] ^= mask
				broken.Put(name, data)
				data[i] ^= mask
				checkBroken(t, broken, name, i, want, len(data))
				flipped++
			}
		}
	}
	t.Logf("%d flips in %d files", flipped, len(names))
}

// TestMissingFiles takes each file of a folder away: a start is refused, and
// doctor names it or the one that needs it.
func TestMissingFiles(t *testing.T) {
	files := smallFolder(t)
	names, _ := files.List()
	for _, name := range names {
		broken := files.Copy()
		if err := broken.Remove(name); err != nil {
			t.Fatal(err)
		}
		if _, err := local.Open(local.Config{State: store.New(), Files: broken}); err == nil {
			t.Errorf("a start without %s", name)
		}
		report, err := local.Inspect(broken)
		if err != nil {
			t.Fatal(err)
		}
		if !report.Damaged() {
			t.Errorf("without %s doctor sees nothing", name)
		}
	}
}

// TestFilesRemovedWhileOpen takes all files away under an open door, as a person
// might: the next snapshot is whole again, though nothing has changed.
func TestFilesRemovedWhileOpen(t *testing.T) {
	files := &folder.Memory{}
	state, d := open(t, files, local.EverySecond)
	do(t, d, newBloom("large", 1_500_000))
	fillSmall(t, d)
	if err := d.Snapshot(); err != nil {
		t.Fatal(err)
	}
	names, _ := files.List()
	for _, name := range names {
		if err := files.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Snapshot(); err != nil {
		t.Fatal(err)
	}
	if err := d.Verify(); err != nil {
		t.Error(err)
	}
	_, d = same(t, files, state, d)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestAutomaticSnapshot asks that a snapshot is taken when the log has outgrown
// the data, and that the log before it goes.
func TestAutomaticSnapshot(t *testing.T) {
	files := &folder.Memory{}
	state := store.New()
	d, err := local.Open(local.Config{State: state, Files: files, Fsync: local.Never, SnapshotAfter: 1 << 16})
	if err != nil {
		t.Fatal(err)
	}
	id := do(t, d, newBloom("k", 10_000)).Entry.ID
	deadline := time.Now().Add(time.Minute)
	for i := uint64(0); d.Status().Snapshots < 2 && time.Now().Before(deadline); i++ {
		do(t, d, add(id, i))
	}
	if d.Status().Snapshots < 2 {
		t.Fatal("no snapshot was taken")
	}
	names, _ := files.List()
	if slices.Contains(names, "00000000000000000000.log") {
		t.Errorf("the first log is left: %v", names)
	}
	_, d = same(t, files, state, d)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

func checkBroken(t *testing.T, files *folder.Memory, name string, offset int, want []byte, size int) {
	t.Helper()
	report, err := local.Inspect(files)
	if err != nil {
		t.Fatal(err)
	}
	if !report.Damaged() && !report.Repairable() {
		t.Errorf("%s: offset %d: doctor sees nothing", name, offset)
	}
	if report.Damaged() {
		named := false
		for _, f := range report.Files {
			named = named || f.Name == name && f.Err != nil && strings.Contains(f.Err.Error(), "offset")
		}
		if !named {
			t.Errorf("%s: offset %d: doctor does not name it: %+v", name, offset, report.Files)
		}
	}
	var log bytes.Buffer
	state := store.New()
	d, err := local.Open(local.Config{State: state, Files: files, Log: textLog(&log)})
	if err != nil {
		if !strings.Contains(err.Error(), name) || !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrVersion) {
			t.Errorf("%s: offset %d: %v", name, offset, err)
		}
		return
	}
	defer func() { _ = d.Close() }()
	// Only the mark of a clean end can be lost without losing data.
	if offset < size-32 || !strings.HasSuffix(name, ".log") || !strings.Contains(log.String(), name) {
		t.Errorf("%s: offset %d: not noticed: %s", name, offset, log.String())
	}
	if !bytes.Equal(snapshot(state), want) {
		t.Errorf("%s: offset %d: another state is believed", name, offset)
	}
}

// listed is a folder that knows whether somebody has looked what is in it.
type listed struct {
	*folder.Memory
	yes atomic.Bool
}

// List implements folder.Folder.
func (l *listed) List() ([]string, error) {
	l.yes.Store(true)
	return l.Memory.List()
}

// TestRecoveryIsTimed asks that the log has the time of a start in milliseconds, and no more digits.
func TestRecoveryIsTimed(t *testing.T) {
	files := &listed{Memory: &folder.Memory{}}
	_, d := open(t, files, local.EverySecond)
	do(t, d, newBloom("k", 1000))
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	files.yes.Store(false)
	var log bytes.Buffer
	start := time.UnixMilli(1)
	d, err := local.Open(local.Config{State: store.New(), Files: files, SnapshotAfter: -1, Log: textLog(&log), Clock: func() time.Time {
		if files.yes.Load() {
			return start.Add(2_938_400 * time.Microsecond)
		}
		return start
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if want := " seconds=2.938\n"; !strings.Contains(log.String(), want) {
		t.Errorf("the log has\n%swant %q", log.String(), want)
	}
}

// TestRunsMakeOneFrame asks that a door keeps order, groups and forgets what
// changed nothing.
func TestRunsMakeOneFrame(t *testing.T) {
	files := &folder.Memory{}
	state := store.New()
	d, err := local.Open(local.Config{State: state, Files: files, SnapshotAfter: -1, Manual: true}) // nobody writes between two runs
	if err != nil {
		t.Fatal(err)
	}
	create := &door.Op{Record: store.Record{Body: &store.MakeBloom{Name: []byte("k"), Params: redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 10, Expansion: 2}}}}
	d.Do([]*door.Op{create})
	if create.Result.Err != nil {
		t.Fatal(create.Result.Err)
	}
	id := create.Result.Entry.ID
	adds := func(a uint64) *door.Op {
		return &door.Op{Record: store.Record{ID: id, Body: &store.BloomAdd{Room: store.Unlimited, Digests: []redisbloom.Digest{{A: a, B: a * a}}}}}
	}
	ops := []*door.Op{adds(11), adds(12), adds(11), {Record: store.Record{Body: &store.Remove{Names: [][]byte{[]byte("nokey")}}}}, adds(13)}
	d.Do(ops)
	d.Wait(ops)
	if got := []bool{ops[0].Result.Bools[0], ops[1].Result.Bools[0], ops[2].Result.Bools[0]}; !got[0] || !got[1] || got[2] {
		t.Errorf("new: %v, want true, true, false", got) //nolint:dupword // two are new
	}
	gone := &door.Op{Record: store.Record{ID: 99, Body: &store.BloomAdd{}}}
	if d.Do([]*door.Op{gone}); !errors.Is(gone.Result.Err, contents.ErrRetry) {
		t.Errorf("a record for an id that never was: %v, want %v", gone.Result.Err, contents.ErrRetry)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	log := files.Bytes("00000000000000000000.log")
	var kinds []store.Op
	for body := log[32 : len(log)-32]; len(body) > 0; {
		var r store.Record
		n, err := r.Decode(body)
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, r.Op())
		body = body[n:]
	}
	if !slices.Equal(kinds, []store.Op{store.OpSeed, store.OpBloom, store.OpAdd, store.OpAdd}) {
		t.Errorf("log has %v, want a seed, a creation and two runs", kinds)
	}
	again, d := open(t, files, local.EverySecond)
	if !bytes.Equal(snapshot(again), snapshot(state)) {
		t.Error("the log replays to another state")
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

// refuser lets nothing in that has more than one digest.
type refuser struct{ settled uint64 }

func (r *refuser) Admit(_ *contents.Part, ops []*door.Op) (uint64, bool) {
	n := 0
	for _, op := range ops {
		n += op.Record.Body.(store.Items).Len()
	}
	return uint64(n), n <= 1
}

func (r *refuser) Settle(aside uint64) { r.settled += aside }

func TestMemoryIsAskedFor(t *testing.T) {
	_, d := open(t, nil, local.EverySecond)
	create := &door.Op{Record: store.Record{Body: &store.MakeBloom{Name: []byte("k"), Params: redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 10, Expansion: 2}}}}
	d.Do([]*door.Op{create})
	r := &refuser{}
	op := func(digests ...redisbloom.Digest) *door.Op {
		return &door.Op{Admit: r, Record: store.Record{ID: create.Result.Entry.ID, Body: &store.BloomAdd{Digests: digests}}}
	}
	a, b, c := redisbloom.Digest{A: 1, B: 9}, redisbloom.Digest{A: 2, B: 8}, redisbloom.Digest{A: 3, B: 7}
	ops := []*door.Op{op(a), op(b, c), op(c)}
	d.Do(ops)
	if ops[0].Result.Err != nil || ops[2].Result.Err != nil || !errors.Is(ops[1].Result.Err, door.ErrMemory) {
		t.Errorf("errors: %v, %v, %v, want only the second refused", ops[0].Result.Err, ops[1].Result.Err, ops[2].Result.Err)
	}
	if r.settled != 2 {
		t.Errorf("settled %d, want 2", r.settled)
	}
}
