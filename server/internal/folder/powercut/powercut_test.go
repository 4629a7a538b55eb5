package powercut

// Tests of the disk that loses power: what was made durable is never lost, and of
// the rest everything happens that may happen.

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/bloomery/bloomery/server/internal/folder"
)

// must ends the test if a call fails.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// create makes a file.
func create(d *Disk, name, text string, sync bool) folder.File {
	f := must(d.Create(name))
	if n := must(f.Write([]byte(text))); n != len(text) {
		panic(fmt.Sprintf("%d of %d bytes are written", n, len(text)))
	}
	if sync {
		must(0, f.Sync())
	}
	return f
}

// text returns what is in a file, "none" if it is not there.
func text(t *testing.T, d *Disk, name string) string {
	t.Helper()
	r, err := d.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "none"
	}
	if err != nil {
		t.Fatal(err)
	}
	data := must(io.ReadAll(r))
	if r.Size() != int64(len(data)) {
		t.Errorf("the size of %s is %d, it has %d bytes", name, r.Size(), len(data))
	}
	return string(data)
}

// outcomes runs something on many disks that then lose power, and counts what is
// left.
func outcomes(t *testing.T, run func(d *Disk), left func(d *Disk) string) map[string]int {
	t.Helper()
	seen := map[string]int{}
	for seed := range uint64(400) {
		d := New(seed)
		run(d)
		n := d.Restart()
		if !d.Dead() || n.Dead() {
			t.Fatal("the power is not gone, or did not come back")
		}
		got := left(n)
		seen[got]++
		if again := left(n.Restart()); again != got {
			t.Fatalf("what is left changes from %q to %q", got, again)
		}
	}
	return seen
}

// only asks for outcomes, each with its share in percent.
func only(t *testing.T, what string, seen map[string]int, want map[string]int) {
	t.Helper()
	for outcome, share := range want {
		if off := seen[outcome]/4 - share; off < -10 || off > 10 { // four sigma
			t.Errorf("%s: %q comes %d times of 400, want %d%%", what, outcome, seen[outcome], share)
		}
	}
	if len(seen) != len(want) {
		t.Errorf("%s: outcomes are %v, want %v", what, seen, want)
	}
}

// TestNames loses names that were not synced, and only those.
func TestNames(t *testing.T) {
	list := func(d *Disk) string { return strings.Join(must(d.List()), " ") }
	synced := func(more func(d *Disk)) func(d *Disk) {
		return func(d *Disk) {
			create(d, "a", "x", true)
			must(0, d.Sync())
			more(d)
		}
	}
	// None in a quarter, all in a quarter, else each in half.
	only(t, "nothing", outcomes(t, synced(func(*Disk) {}), list), map[string]int{"a": 100})
	only(t, "create", outcomes(t, synced(func(d *Disk) { create(d, "b", "", false) }), list), map[string]int{"a": 50, "a b": 50})
	only(t, "create two", outcomes(t, synced(func(d *Disk) { create(d, "c", "", false); create(d, "b", "", false) }), list),
		map[string]int{"a": 37, "a b": 12, "a c": 12, "a b c": 37})
	only(t, "rename", outcomes(t, synced(func(d *Disk) { must(0, d.Rename("a", "b")) }), list), map[string]int{"a": 50, "b": 50})
	only(t, "remove", outcomes(t, synced(func(d *Disk) { must(0, d.Remove("a")) }), list), map[string]int{"a": 50, "": 50})
	only(t, "synced", outcomes(t, synced(func(d *Disk) {
		create(d, "b", "", false)
		must(0, d.Rename("a", "c"))
		must(0, d.Sync())
	}), list), map[string]int{"b c": 100})
	only(t, "emptied", outcomes(t, synced(func(d *Disk) { create(d, "a", "y", true) }), func(d *Disk) string { return text(t, d, "a") }), map[string]int{"y": 100})
}

// TestBytes loses bytes that were not synced, and only those.
func TestBytes(t *testing.T) {
	old, more := strings.Repeat("o", 200), strings.Repeat("n", 300)
	content := func(d *Disk) string { return text(t, d, "a") }
	write := func(d *Disk) folder.File {
		f := create(d, "a", old, true)
		must(0, d.Sync())
		must(f.Write([]byte(more)))
		return f
	}
	seen := outcomes(t, func(d *Disk) { write(d) }, content)
	inOrder, holes, zeros := 0, 0, 0
	for got, times := range seen {
		rest, ok := strings.CutPrefix(got, old)
		if !ok || len(rest) > len(more) || strings.Trim(rest, "n\x00") != "" {
			t.Fatalf("a file is left as %q", got)
		}
		switch {
		case rest == "" || rest == more:
		case strings.Trim(rest, "n") == "":
			inOrder += times
		case strings.Trim(rest, "\x00") == "":
			zeros += times
		default:
			holes += times
			if len(rest) != len(more) {
				t.Errorf("%d bytes are left with holes", len(rest))
			}
		}
	}
	// Nothing new in a quarter and an eighth; a piece in a quarter; else all of
	// it, with holes.
	if n := seen[old]; n < 110 || n > 190 || inOrder < 60 || inOrder > 140 || holes < 100 || holes > 200 || zeros > 10 {
		t.Errorf("the old in %d, a piece in %d, holes in %d, zeros in %d of 400", n, inOrder, holes, zeros)
	}
	only(t, "synced", outcomes(t, func(d *Disk) { must(0, write(d).Sync()) }, content), map[string]int{old + more: 100})

	// One byte: there, zero or lost.
	only(t, "one byte", outcomes(t, func(d *Disk) {
		f := create(d, "a", "", true)
		must(0, d.Sync())
		must(f.Write([]byte("x")))
	}, content), map[string]int{"": 50, "x": 40, "\x00": 10})

	// Cut off behind what is durable, and written on: what was cut off may come back.
	seen = outcomes(t, func(d *Disk) {
		f := create(d, "a", "abcdef", true)
		must(0, d.Sync())
		must(0, f.Truncate(2))
		must(f.Write([]byte("xy")))
	}, content)
	for got := range seen {
		if !strings.HasPrefix(got, "ab") || len(got) != 4 && len(got) != 6 {
			t.Errorf("a file that was cut off is left as %q", got)
		}
		for i, c := range []byte(got[2:]) {
			if !strings.ContainsRune("cdef"[i:i+1]+"xy\x00\x00"[i:i+1]+"\x00", rune(c)) {
				t.Errorf("a file that was cut off is left as %q", got)
			}
		}
	}
	if seen["abcdef"] < 60 || seen["abxy"] < 60 || seen["ab\x00\x00"] == 0 {
		t.Errorf("a file that was cut off is left as %v", seen)
	}
	seen = outcomes(t, func(d *Disk) {
		f := create(d, "a", "abcdef", true)
		must(0, d.Sync())
		must(0, f.Truncate(2))
	}, content)
	if seen["abcdef"] < 60 || seen["ab"] < 60 {
		t.Errorf("a file that was only cut off is left as %v", seen)
	}
	// As much as was there, or more, is not cut off.
	only(t, "cut", outcomes(t, func(d *Disk) {
		f := create(d, "a", "abc", true)
		must(0, d.Sync())
		must(0, errors.Join(f.Truncate(3), f.Truncate(9)))
	}, content), map[string]int{"abc": 100})
}

// TestCut counts operations until the power is cut; then nothing works.
func TestCut(t *testing.T) {
	operations := []func(d *Disk, f folder.File) error{
		func(d *Disk, _ folder.File) error { _, err := d.Create("b"); return err },
		func(d *Disk, _ folder.File) error { _, err := d.Append("a"); return err },
		func(d *Disk, _ folder.File) error { return d.Rename("a", "c") },
		func(d *Disk, _ folder.File) error { return d.Rename("c", "a") },
		func(d *Disk, _ folder.File) error { return d.Remove("a") },
		func(d *Disk, _ folder.File) error { return d.Sync() },
		func(_ *Disk, f folder.File) error { return f.Sync() },
		func(_ *Disk, f folder.File) error { return f.Truncate(1) },
		func(_ *Disk, f folder.File) error { _, err := f.Write([]byte("more")); return err },
	}
	done := 0
	for seed := range uint64(20) {
		for n := range operations {
			d := New(seed)
			f := create(d, "a", "text", true)
			d.CutAfter(n)
			for i, o := range operations {
				if err := o(d, f); errors.Is(err, ErrPower) != (i >= n) || err != nil && i < n {
					t.Fatalf("operation %d of %d: %v", i, n, err)
				}
				if d.Dead() != (i >= n) {
					t.Fatalf("operation %d of %d: dead is %v", i, n, d.Dead())
				}
			}
			if _, err := d.Open("a"); !errors.Is(err, ErrPower) {
				t.Errorf("open without power: %v", err)
			}
			if _, err := d.List(); !errors.Is(err, ErrPower) {
				t.Errorf("list without power: %v", err)
			}
			if n == 0 && d.names["b"] != nil {
				done++
			}
		}
	}
	if done == 0 || done == 20 {
		t.Errorf("the operation at which the power is cut was done %d times of 20", done)
	}
	lengths := map[int]bool{}
	for seed := range uint64(100) {
		d := New(seed)
		f := create(d, "a", "", false)
		d.CutAfter(0)
		for range 2 {
			if n, err := f.Write([]byte("abc")); n != 0 || !errors.Is(err, ErrPower) {
				t.Errorf("write as the power is cut: %d, %v", n, err)
			}
		}
		got := string(d.names["a"].data)
		if lengths[len(got)] = true; !strings.HasPrefix("abc", got) {
			t.Errorf("as the power was cut %q was written", got)
		}
	}
	if len(lengths) != 4 {
		t.Errorf("lengths of writes that were cut: %v", lengths)
	}
}

// TestFail refuses operations by name.
func TestFail(t *testing.T) {
	d := New(1)
	var asked []string
	var refuse error
	d.Fail = func(op, name string) error {
		asked = append(asked, op+" "+name)
		return refuse
	}
	all := func() []error {
		f, err1 := d.Create("a")
		if err1 != nil {
			f = &file{d, &inode{}, "a"}
		}
		n, err2 := f.Write([]byte("text"))
		if (n == 0) != (err2 != nil) {
			t.Errorf("%d bytes are written: %v", n, err2)
		}
		_, err3 := d.Append("a")
		return []error{err1, err2, err3, f.Truncate(2), f.Sync(), d.Rename("a", "b"), d.Remove("b"), d.Sync()}
	}
	want := "create a, write a, append a, truncate a, sync a, rename a, remove b, sync folder "
	for _, refuse = range []error{nil, syscall.EIO} {
		asked = nil
		for i, err := range all() {
			if !errors.Is(err, refuse) {
				t.Errorf("operation %d: %v, want %v", i, err, refuse)
			}
			if path, ok := errors.AsType[*fs.PathError](err); refuse != nil && (!ok || strings.TrimSpace(path.Op+" "+path.Path) != strings.TrimSpace(asked[i])) {
				t.Errorf("operation %d: %v is not an error of %q", i, err, asked[i])
			}
		}
		if got := strings.Join(asked, ", "); got != want {
			t.Errorf("Fail was asked for %q, want %q", got, want)
		}
	}
	refuse = nil
	f := create(d, "a", "", false)
	refuse = ErrShort
	lengths := map[int]bool{}
	for range 50 {
		n, err := f.Write([]byte("abc"))
		if lengths[n] = true; !errors.Is(err, syscall.ENOSPC) || fmt.Sprint(ErrShort) != "no space left on device" {
			t.Errorf("a write to a full disk: %v", err)
		}
		if got := string(d.names["a"].data); got != "abc"[:n] {
			t.Errorf("%q of %d bytes was written", got, n)
		}
		refuse = nil
		must(0, f.Truncate(0))
		refuse = ErrShort
	}
	if len(lengths) != 3 {
		t.Errorf("lengths of writes to a full disk: %v", lengths)
	}
}

// TestFiles asks for what every folder does.
func TestFiles(t *testing.T) {
	d := New(1)
	f := create(d, "a", "text", false)
	must(must(d.Append("a")).Write([]byte(" and more")))
	must(f.Write([]byte("!")))
	if got := text(t, d, "a"); got != "text and more!" {
		t.Errorf("the file has %q", got)
	}
	must(0, f.Truncate(4))
	must(f.Write([]byte("s")))
	if got := text(t, d, "a"); got != "texts" {
		t.Errorf("the file has %q", got)
	}
	create(d, "b", "", false)
	if got := must(d.List()); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("List() = %q", got)
	}
	must(0, d.Rename("a", "b"))
	if text(t, d, "a") != "none" || text(t, d, "b") != "texts" {
		t.Error("rename does not replace")
	}
	create(d, "b", "", false)
	if got := text(t, d, "b"); got != "" {
		t.Errorf("a file that was made again has %q", got)
	}
	must(0, errors.Join(d.Remove("b"), f.Close()))
	_, open := d.Open("b")
	_, appended := d.Append("b")
	for what, err := range map[string]error{"open": open, "append": appended, "rename": d.Rename("b", "c"), "remove": d.Remove("b")} {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s of a file that is not there: %v", what, err)
		}
	}
	r := must(d.Open(func() string { create(d, "c", "old", false); return "c" }()))
	create(d, "c", "new", false)
	if got := must(io.ReadAll(r)); !bytes.Equal(got, []byte("old")) || r.Close() != nil {
		t.Errorf("a file that was open has %q", got)
	}
}

// TestLock has one owner at a time.
func TestLock(t *testing.T) {
	d := New(1)
	lock := must(d.Lock())
	if _, err := d.Lock(); !errors.Is(err, folder.ErrLocked) {
		t.Errorf("locked twice: %v", err)
	}
	must(0, lock.Close())
	must(d.Lock())
	d.Kill()
	must(d.Lock())
	if _, err := d.Restart().Lock(); err != nil {
		t.Errorf("locked after a restart: %v", err)
	}
}
