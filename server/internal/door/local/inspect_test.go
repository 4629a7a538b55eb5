package local_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/door/local"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/folder/powercut"
	saved "github.com/bloomery/bloomery/server/internal/snapshot"
	"github.com/bloomery/bloomery/server/internal/store"
)

// named returns the names of files that end so.
func named(files *folder.Memory, suffix string) (found []string) {
	all, _ := files.List()
	for _, name := range all {
		if strings.HasSuffix(name, suffix) {
			found = append(found, name)
		}
	}
	return found
}

// TestInspectMarks asks which files a report calls damaged, not needed or not
// checked.
func TestInspectMarks(t *testing.T) {
	whole, _ := mixed(t)
	parts := named(whole, ".part")
	manifest := named(whole, "MANIFEST")
	if len(parts) < 2 || len(manifest) != 1 {
		all, _ := whole.List()
		t.Fatalf("the folder has %v", all)
	}
	damage := func(files *folder.Memory, name string) {
		data := bytes.Clone(files.Bytes(name))
		data[len(data)/2] ^= 1
		files.Put(name, data)
	}
	for _, c := range []struct {
		name   string
		change func(*folder.Memory)
		want   string // what is marked, in the order of names
	}{
		{"nothing", func(*folder.Memory) {}, ""},
		{"a part that nothing needs", func(m *folder.Memory) { m.Put("0000000000000999.part", m.Bytes(parts[0])) }, "0000000000000999.part:orphan"},
		{"the manifest", func(m *folder.Memory) { damage(m, manifest[0]) }, manifest[0] + ":damaged *.log:unchecked *.part:unchecked"},
		{"a part", func(m *folder.Memory) { damage(m, parts[0]) }, parts[0] + ":damaged"},
	} {
		files := whole.Copy()
		c.change(files)
		report, err := local.Inspect(files)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for _, f := range report.Files {
			name := f.Name
			for what, marked := range map[string]bool{"damaged": f.Err != nil, "orphan": f.Orphan, "unchecked": f.Unchecked} {
				if marked && what == "unchecked" {
					name = "*" + name[strings.LastIndex(name, "."):]
				}
				if marked {
					got[name+":"+what] = true
				}
			}
		}
		want := strings.Fields(c.want)
		for _, w := range want {
			if !got[w] {
				t.Errorf("%s: %s is not marked; %v are", c.name, w, got)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: %v are marked, want %v", c.name, got, want)
		}
	}
}

// failing is a folder in which one file cannot be opened.
type failing struct {
	*folder.Memory
	name string
	err  error
	open int // readers that are not closed
}

func (f *failing) Open(name string) (folder.Reader, error) {
	if name == f.name {
		return nil, &fs.PathError{Op: "open", Path: name, Err: f.err}
	}
	r, err := f.Memory.Open(name)
	if err == nil {
		f.open++
	}
	return &closing{r, f}, err
}

type closing struct {
	folder.Reader
	f *failing
}

func (c *closing) Close() error {
	c.f.open--
	return c.Reader.Close()
}

// TestBackupOfFailures asks that a backup that cannot be whole is an error, and
// leaves nothing open.
func TestBackupOfFailures(t *testing.T) {
	whole, state := mixed(t)
	broken := errors.New("broken")
	keep := func(to *folder.Memory) func(string, int64, io.Reader) error {
		return func(name string, size int64, r io.Reader) error {
			data, err := io.ReadAll(r)
			if int64(len(data)) != size {
				return fmt.Errorf("%s has %d bytes, not %d", name, len(data), size)
			}
			to.Put(name, data)
			return err
		}
	}
	names, _ := whole.List()
	for _, name := range names {
		for _, err := range []error{broken, fs.ErrNotExist} {
			if err == fs.ErrNotExist && strings.HasSuffix(name, "MANIFEST") {
				continue // a folder without a manifest may be one without a snapshot
			}
			f := &failing{Memory: whole.Copy(), name: name, err: err}
			if got := local.Backup(f, keep(&folder.Memory{})); !errors.Is(got, err) || f.open != 0 {
				t.Errorf("%s cannot be opened: %v, want %v; %d files are open", name, got, err, f.open)
			}
		}
	}
	f := &failing{Memory: whole}
	if err := local.Backup(f, func(string, int64, io.Reader) error { return broken }); !errors.Is(err, broken) || f.open != 0 {
		t.Errorf("a copy that cannot be written: %v; %d files are open", err, f.open)
	}
	damaged := whole.Copy()
	data := bytes.Clone(whole.Bytes("MANIFEST"))
	data[len(data)/2] ^= 1
	damaged.Put("MANIFEST", data)
	if err := local.Backup(damaged, keep(&folder.Memory{})); !errors.Is(err, bloomery.ErrCorrupt) {
		t.Errorf("a damaged manifest: %v, want %v", err, bloomery.ErrCorrupt)
	}
	to := &folder.Memory{}
	if err := local.Backup(f, keep(to)); err != nil || f.open != 0 {
		t.Fatalf("%v; %d files are open", err, f.open)
	}
	again, d := open(t, to, local.Never)
	if !bytes.Equal(snapshot(again), snapshot(state)) {
		t.Error("the copy has another state")
	}
	if err := d.Verify(); err != nil {
		t.Error(err)
	}
	_ = d.Close()
}

// TestModes changes how often the log is synced, and asks a door without a log for
// everything.
func TestModes(t *testing.T) {
	_, d := open(t, &folder.Memory{}, local.Always)
	for _, mode := range []string{"everysec", "no", "always"} {
		if err := d.SetFsync(mode); err != nil || d.Status().Mode != mode {
			t.Errorf("SetFsync(%s): %v, the mode is %s", mode, err, d.Status().Mode)
		}
	}
	if err := d.SetFsync("seldom"); err == nil || d.Status().Mode != "always" {
		t.Errorf("SetFsync(seldom): %v, the mode is %s", err, d.Status().Mode)
	}
	if err := errors.Join(d.Verify(), d.Close()); err != nil {
		t.Error(err)
	}
	d, err := local.Open(local.Config{State: store.New()})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(d.Verify(), d.Sync(), d.Refuses(), d.SetFsync("no"), d.Close()); err != nil {
		t.Errorf("a door without a log: %v", err)
	}
}

// TestStringsOfWholePieces saves strings whose lengths are those of pieces, less one
// and more.
func TestStringsOfWholePieces(t *testing.T) {
	files := &folder.Memory{}
	state, d := open(t, files, local.Never)
	for _, n := range []int{0, 1, 64 << 10, 256 << 10, 1 << 20, 4 << 20} {
		for _, more := range []int{-1, 0, 1} {
			if n+more >= 0 {
				do(t, d, store.Record{Body: &store.Set{String: store.String{Name: fmt.Append(nil, n, more), Value: bytes.Repeat([]byte("s"), n+more)}}})
			}
		}
	}
	if err := d.Snapshot(); err != nil {
		t.Fatal(err)
	}
	if err := d.Verify(); err != nil {
		t.Error(err)
	}
	_, d = same(t, files, state, d)
	_ = d.Close()
}

// TestSnapshotOfALongStringFails asks that a snapshot reports that the file of a long
// string could not be made, written, synced or closed.
func TestSnapshotOfALongStringFails(t *testing.T) {
	seen := map[string]bool{}
	for _, fails := range []string{"", "create", "write", "sync", "close"} {
		disk := powercut.New(1)
		var armed atomic.Bool // the log's goroutine asks, too
		disk.Fail = func(op, name string) error {
			if !armed.Load() || !strings.HasSuffix(name, ".part") {
				return nil
			}
			if seen[op] = true; op == fails {
				return syscall.EIO
			}
			return nil
		}
		_, d := open(t, disk, local.Never)
		do(t, d, store.Record{Body: &store.Set{String: store.String{Name: []byte("long"), Value: bytes.Repeat([]byte("s"), 1<<20+1)}}})
		armed.Store(true)
		if err := d.Snapshot(); (err != nil) != (fails != "" && seen[fails]) {
			t.Errorf("%s fails: %v", fails, err)
		}
		armed.Store(false)
		_ = d.Close()
	}
	if !seen["write"] || !seen["sync"] {
		t.Errorf("the file is not written: %v", seen)
	}
}

// TestInspectComparesLog asks that a log which does not go on as the manifest says is
// damage, and that an empty log file among others is not needed.
func TestInspectComparesLog(t *testing.T) {
	files := smallFolder(t)
	m, err := saved.Read(files)
	if err != nil {
		t.Fatal(err)
	}
	logs := named(files, ".log")
	start, _ := folder.ParseLogName(logs[len(logs)-1])
	begun := files.Copy()
	begun.Put(folder.LogName(start+1), nil)
	report, err := local.Inspect(begun)
	if err != nil || report.Damaged() || !report.Repairable() {
		t.Fatalf("a log file that was begun and not needed: %+v, %v", report, err)
	}
	for _, f := range report.Files {
		if f.Orphan != (f.Name == folder.LogName(start+1)) {
			t.Errorf("%s is not needed: %v", f.Name, f.Orphan)
		}
	}
	if err := local.Repair(begun, report); err != nil || begun.Bytes(folder.LogName(start+1)) != nil || len(named(begun, ".log")) != len(logs) {
		t.Errorf("repaired to %v, %v", named(begun, ".log"), err)
	}
	m.Items[0].Gone = true // removed while it was saved, and the log does not have that
	if err := m.Install(files); err != nil {
		t.Fatal(err)
	}
	if report, err = local.Inspect(files); err != nil || !report.Damaged() {
		t.Errorf("a log that does not belong to the snapshot: %+v, %v", report, err)
	}
	if _, err := local.Open(local.Config{State: store.New(), Files: files}); !errors.Is(err, bloomery.ErrCorrupt) {
		t.Errorf("a start with it: %v", err)
	}
}
