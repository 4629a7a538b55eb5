package file

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// faulty is the file system with a list of what was asked of it. The step
// named by fails returns errFault.
type faulty struct {
	steps []string
	fails string
	see   func(step string) // called before each step
}

var errFault = errors.New("fault")

func (d *faulty) step(name string) error {
	if d.see != nil {
		d.see(name)
	}
	d.steps = append(d.steps, name)
	if name == d.fails {
		return errFault
	}
	return nil
}

func (d *faulty) create(name string, mode fs.FileMode) (temporary, error) {
	if err := d.step("create"); err != nil {
		return nil, err
	}
	f, err := osDisk{}.create(name, mode)
	return faultyFile{f, d}, err
}

func (d *faulty) rename(from, to string) error {
	if err := d.step("rename"); err != nil {
		return err
	}
	return os.Rename(from, to)
}
func (d *faulty) removeLeftover(name string) { removeLeftover(name) }
func (d *faulty) remove(name string) error   { return errors.Join(d.step("remove"), os.Remove(name)) }
func (d *faulty) syncFolder(name string) error {
	return errors.Join(d.step("sync "+name), syncFolder(name))
}

type faultyFile struct {
	temporary
	d *faulty
}

func (f faultyFile) Write(b []byte) (int, error) {
	if err := f.d.step("write"); err != nil {
		return 0, err
	}
	return f.temporary.Write(b)
}

func (f faultyFile) Chmod(mode fs.FileMode) error {
	return errors.Join(f.d.step("chmod"), f.temporary.Chmod(mode))
}
func (f faultyFile) Sync() error  { return errors.Join(f.d.step("sync"), f.temporary.Sync()) }
func (f faultyFile) Close() error { return errors.Join(f.d.step("close"), f.temporary.Close()) }

// text is a filter for the purposes of WriteFile.
type text string

func (s text) WriteTo(w io.Writer) (int64, error) {
	n, err := io.WriteString(w, string(s))
	return int64(n), err
}

// The content is on the disk before the name, and the name before WriteFile
// returns.
func TestWriteFileSyncs(t *testing.T) {
	dir := t.TempDir()
	d := &faulty{}
	if err := writeFile(d, filepath.Join(dir, "a"), text("new")); err != nil {
		t.Fatal(err)
	}
	want := []string{"create", "write", "sync", "close", "rename", "sync " + dir}
	if !slices.Equal(d.steps, want) {
		t.Errorf("steps %q, want %q", d.steps, want)
	}
}

func TestWriteFileFaults(t *testing.T) {
	for _, step := range []string{"create", "chmod", "write", "sync", "close", "rename"} {
		dir := t.TempDir()
		name := filepath.Join(dir, "a")
		if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := writeFile(&faulty{fails: step}, name, text("new")); !errors.Is(err, errFault) {
			t.Errorf("%s fails: %v, want its error", step, err)
		}
		if got, _ := os.ReadFile(name); string(got) != "old" {
			t.Errorf("%s fails: the file holds %q", step, got)
		}
		if names, _ := os.ReadDir(dir); len(names) != 1 {
			t.Errorf("%s fails: the folder holds %v", step, names)
		}
	}
	dir := t.TempDir()
	name := filepath.Join(dir, "a")
	if err := writeFile(&faulty{fails: "sync " + dir}, name, text("new")); !errors.Is(err, errFault) {
		t.Errorf("the folder is not synced: %v, want its error", err)
	}
	if got, _ := os.ReadFile(name); string(got) != "new" {
		t.Errorf("the folder is not synced: the file holds %q, want the new content", got)
	}
}

// Nobody can read a private file while it is written.
func TestWriteFileIsPrivateAtOnce(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a")
	if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Skip("this system has other permissions")
	}
	seen := 0
	see := func(step string) {
		files, err := filepath.Glob(filepath.Join(dir, "*.tmp"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			info, err := os.Stat(f)
			if err != nil {
				t.Fatal(err)
			}
			seen++
			if mode := info.Mode().Perm(); mode&^0o600 != 0 {
				t.Errorf("before %s the temporary file has mode %v", step, mode)
			}
		}
	}
	if err := writeFile(&faulty{see: see}, name, text("secret")); err != nil {
		t.Fatal(err)
	}
	if seen == 0 {
		t.Error("no temporary file was seen")
	}
}

// panicking is a filter that panics after some bytes.
type panicking struct{}

func (panicking) WriteTo(w io.Writer) (int64, error) {
	_, _ = w.Write(make([]byte, 2*bufferSize))
	panic("broken")
}

func TestWriteFilePanicLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic is gone")
			}
		}()
		_ = WriteFile(filepath.Join(dir, "a"), panicking{})
	}()
	if names, _ := os.ReadDir(dir); len(names) != 0 {
		t.Errorf("the folder holds %v", names)
	}
}

func TestWriteFileLongNames(t *testing.T) {
	for _, base := range []string{strings.Repeat("n", 255), strings.Repeat("ü", 127), "x" + strings.Repeat("€", 84)} {
		dir := t.TempDir()
		name := filepath.Join(dir, base)
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Skipf("the file system takes no name of %d bytes: %v", len(base), err)
		}
		if err := WriteFile(name, text("long")); err != nil {
			t.Errorf("a name of %d bytes: %v", len(base), err)
		}
		if got, _ := os.ReadFile(name); string(got) != "long" {
			t.Errorf("a name of %d bytes: the file holds %q", len(base), got)
		}
	}
}

// names is a disk on which all files exist.
type names struct {
	osDisk
	asked []string
	modes []fs.FileMode
}

func (n *names) create(name string, mode fs.FileMode) (temporary, error) {
	n.asked, n.modes = append(n.asked, name), append(n.modes, mode)
	if len(n.asked) == 3 {
		return nil, errFault
	}
	return nil, fs.ErrExist
}

// The name of the temporary file is valid where that of the file is, however it
// is cut, and a new file has the usual mode.
func TestTemporaryNames(t *testing.T) {
	for _, base := range []string{"a", strings.Repeat("a", 100), strings.Repeat("a", 101), strings.Repeat("ü", 100), "a" + strings.Repeat("ü", 100), strings.Repeat("€", 80), "a" + strings.Repeat("€", 80), strings.Repeat("\xff", 200)} {
		var n names
		if err := writeFile(&n, filepath.Join(t.TempDir(), base), text("")); !errors.Is(err, errFault) {
			t.Errorf("%q: %v, want the error of create", base, err)
		}
		for i, name := range n.asked {
			temporary := filepath.Base(name)
			if len(temporary) > 143 || utf8.ValidString(base) && !utf8.ValidString(temporary) {
				t.Errorf("%q: the temporary file is called %q", base, temporary)
			}
			if utf8.ValidString(base) && len(base) > 100 && len(temporary) < 97 {
				t.Errorf("%q: the temporary file is called %q, too short", base, temporary)
			}
			if !strings.HasSuffix(name, fmt.Sprintf(".%d.bloomery.tmp", i)) || n.modes[i] != 0o666 {
				t.Errorf("%q: %q with mode %v", base, name, n.modes[i])
			}
		}
	}
}

func TestSyncFolderFails(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("windows has no such sync")
	}
	if err := syncFolder(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no such folder: %v, want ErrNotExist", err)
	}
	if err := syncFolder(t.TempDir()); err != nil {
		t.Error(err)
	}
}
