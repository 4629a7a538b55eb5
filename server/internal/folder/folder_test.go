package folder_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/folder"
)

// TestFiles does the same with a folder in memory and one of the file system.
func TestFiles(t *testing.T) {
	disk, err := folder.OpenDisk(filepath.Join(t.TempDir(), "a", "b"))
	if err != nil {
		t.Fatal(err)
	}
	for name, files := range map[string]folder.Files{"memory": &folder.Memory{}, "disk": disk} {
		t.Run(name, func(t *testing.T) {
			missing(t, files)
			f, err := files.Create("x")
			write(t, f, err, "hello, ")
			f, err = files.Append("x")
			write(t, f, err, "world!")
			f, err = files.Append("x")
			if err == nil {
				err = errors.Join(f.Truncate(5), f.Truncate(5))
			}
			write(t, f, err, "?")
			holds(t, files, "x", "hello?")
			f, err = files.Create("y")
			write(t, f, err, "other")
			if err := errors.Join(files.Rename("x", "y"), files.Sync()); err != nil {
				t.Fatal(err)
			}
			holds(t, files, "y", "hello?")
			if names, err := files.List(); err != nil || !slices.Equal(names, []string{"y"}) {
				t.Errorf("List = %q, %v", names, err)
			}
			f, err = files.Create("y") // empties it
			write(t, f, err, "")
			holds(t, files, "y", "")
			if err := files.Remove("y"); err != nil {
				t.Error(err)
			}
			missing(t, files)
			lock, err := files.Lock()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := files.Lock(); !errors.Is(err, folder.ErrLocked) {
				t.Errorf("a second lock: %v, want ErrLocked", err)
			}
			if err := lock.Close(); err != nil {
				t.Error(err)
			}
			if lock, err = files.Lock(); err != nil {
				t.Fatalf("a lock after the first was closed: %v", err)
			}
			_ = lock.Close()
		})
	}
}

// missing asks for a file that is not there, in every way.
func missing(t *testing.T, files folder.Files) {
	t.Helper()
	_, open := files.Open("y")
	_, appended := files.Append("y")
	_, read := folder.ReadFile(files, "y", nil)
	for way, err := range map[string]error{"open": open, "append": appended, "read": read, "rename": files.Rename("y", "z"), "remove": files.Remove("y")} {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s of nothing: %v", way, err)
		}
	}
	if names, err := files.List(); err != nil || len(names) != 0 {
		t.Errorf("List = %q, %v", names, err)
	}
}

func write(t *testing.T, f folder.File, err error, text string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.WriteString(f, text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil || n != len(text) {
		t.Fatalf("%d of %d bytes were written: %v", n, len(text), err)
	}
}

func holds(t *testing.T, files folder.Files, name, want string) {
	t.Helper()
	for _, buf := range [][]byte{nil, []byte("a buffer that is longer than the file")} {
		if got, err := folder.ReadFile(files, name, buf); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v, want %q", name, got, err, want)
		}
	}
	r, err := files.Open(name)
	if err != nil || r.Size() != int64(len(want)) {
		t.Fatalf("%s has %d bytes, %v, want %d", name, r.Size(), err, len(want))
	}
	_ = r.Close()
}

// TestDiskLists checks what is no file of the folder: the lock of earlier releases and
// folders, but for those with the name of a file that is needed.
func TestDiskLists(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	disk, err := folder.OpenDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir); err != nil || runtime.GOOS != "windows" && info.Mode().Perm()&^0o750 != 0 {
		t.Errorf("the folder has the mode %v, %v, want nothing for others", info.Mode(), err)
	}
	for _, name := range []string{"sub", folder.Manifest, folder.LogName(7), folder.PartName(8)} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"LOCK", "note"} {
		f, err := disk.Create(name)
		write(t, f, err, "x")
	}
	if info, err := os.Stat(filepath.Join(dir, "note")); err != nil || runtime.GOOS != "windows" && info.Mode().Perm()&^0o640 != 0 {
		t.Errorf("a file has the mode %v, %v, want nothing for others", info.Mode(), err)
	}
	names, err := disk.List()
	if want := []string{folder.LogName(7), folder.PartName(8), folder.Manifest, "note"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("List = %q, %v, want %q", names, err, want)
	}
	var damage *folder.Damage
	if _, err := disk.Open(folder.Manifest); !errors.As(err, &damage) || damage.File != folder.Manifest || !errors.Is(err, bloomery.ErrCorrupt) {
		t.Errorf("a folder in the place of a file: %v, want damage of it", err)
	}
	none := folder.Disk(filepath.Join(dir, "none"))
	_, listed := none.List()
	_, locked := none.Lock()
	for way, err := range map[string]error{"list": listed, "lock": locked, "sync": none.Sync()} {
		if !errors.Is(err, fs.ErrNotExist) && runtime.GOOS != "windows" {
			t.Errorf("%s of nothing: %v", way, err)
		}
	}
	if _, err := folder.OpenDisk(filepath.Join(dir, "note")); err == nil {
		t.Error("a file is taken for a folder")
	}
}

// TestMemoryCopies checks that copies of a folder in memory share nothing.
func TestMemoryCopies(t *testing.T) {
	var m folder.Memory
	data := []byte("data")
	m.Put("x", data)
	data[0] = 'D'
	c := m.Copy()
	f, err := c.Append("x")
	write(t, f, err, "!")
	if got := string(m.Bytes("x")); got != "data" || string(c.Bytes("x")) != "data!" || m.Bytes("y") != nil {
		t.Errorf("%q, the copy %q, nothing %q", got, c.Bytes("x"), m.Bytes("y"))
	}
}

// TestStoppable checks that a reader asks before it reads.
func TestStoppable(t *testing.T) {
	var m folder.Memory
	m.Put("x", []byte("data"))
	var stop error
	files := folder.Stoppable(&m, func() error { return stop })
	if got, err := folder.ReadFile(files, "x", nil); err != nil || string(got) != "data" {
		t.Errorf("ReadFile = %q, %v", got, err)
	}
	stop = errors.New("stopped")
	if _, err := folder.ReadFile(files, "x", nil); !errors.Is(err, stop) {
		t.Errorf("after the stop: %v", err)
	}
	if _, err := files.Open("y"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	r, err := files.Open("x")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := r.Read(make([]byte, 4)); n != 0 || !errors.Is(err, stop) {
		t.Errorf("after the stop: %d bytes, %v", n, err)
	}
}

// TestNames checks names and what looks like them.
func TestNames(t *testing.T) {
	if log, part := folder.LogName(42), folder.PartName(42); log != "00000000000000000042.log" || part != "0000000000000042.part" {
		t.Errorf("names %q and %q", log, part)
	}
	for _, n := range []uint64{0, 1, 42, 9_999_999_999_999_999} {
		log, isLog := folder.ParseLogName(folder.LogName(n))
		part, isPart := folder.ParsePartName(folder.PartName(n))
		if log != n || part != n || !isLog || !isPart {
			t.Errorf("%d comes back as %d, %t and %d, %t", n, log, isLog, part, isPart)
		}
	}
	for _, name := range []string{"", ".log", "42.log", "0000000000000042.log", "000000000000000042.part", "00000000000000000042.part", "0000000000000x42.part", "-000000000000042.part", "99999999999999999999.log"} {
		_, isLog := folder.ParseLogName(name)
		_, isPart := folder.ParsePartName(name)
		if isLog || isPart {
			t.Errorf("%q is a name: log %t, part %t", name, isLog, isPart)
		}
	}
}

// TestFrames writes frames of all lengths and reads them back, from the file and from
// one that is damaged or of another place.
func TestFrames(t *testing.T) {
	var m folder.Memory
	bodies := [][]byte{nil, []byte("a"), bytes.Repeat([]byte("b"), 70<<10), bytes.Repeat([]byte("c"), 1<<20), []byte("d")}
	file, err := m.Create("x")
	if err != nil {
		t.Fatal(err)
	}
	w := folder.NewFrameWriter(file, folder.PartFrame, 5)
	size := int64(0)
	for i, body := range bodies {
		if err := w.Seal(append(w.Body(), body...)); err != nil {
			t.Fatal(err)
		}
		size += int64(folder.FrameHeader + len(body))
		if w.Size != size {
			t.Errorf("%d bytes after frame %d, want %d", w.Size, i, size)
		}
		if isLarge := i >= 3; (len(m.Bytes("x")) > 0) != isLarge {
			t.Errorf("%d bytes were written after frame %d: from 1 MiB on they are", len(m.Bytes("x")), i)
		}
	}
	if err := errors.Join(w.Flush(), w.Flush()); err != nil || int64(len(m.Bytes("x"))) != size {
		t.Fatalf("%d bytes were written, %v, want %d", len(m.Bytes("x")), err, size)
	}
	for _, number := range []uint64{5, folder.AnyNumber} {
		r := open(t, &m, folder.PartFrame, number)
		for i, body := range bodies {
			fr, err := r.Next()
			if err != nil || fr.Kind != folder.PartFrame || fr.A != 5 || !bytes.Equal(fr.Body, body) {
				t.Fatalf("frame %d: kind %d, number %d, %d bytes, %v", i, fr.Kind, fr.A, len(fr.Body), err)
			}
		}
		if _, err := r.Next(); !errors.Is(err, io.EOF) || r.Off != size {
			t.Errorf("behind the last frame: %v at %d", err, r.Off)
		}
	}
	whole := m.Bytes("x")
	for name, c := range map[string]struct {
		data   []byte
		kind   byte
		number uint64
	}{
		"another kind":   {whole, folder.ManifestFrame, 5},
		"another number": {whole, folder.PartFrame, 6},
		"another offset": {whole[folder.FrameHeader:], folder.PartFrame, 5},
		"half a header":  {whole[:20], folder.PartFrame, 5},
		"no frame":       {bytes.Repeat([]byte("x"), 100), folder.PartFrame, 5},
		"half a body":    {whole[:2*folder.FrameHeader], folder.PartFrame, 5},
	} {
		m.Put("x", c.data)
		r := open(t, &m, c.kind, c.number)
		var err error
		for err == nil {
			_, err = r.Next()
		}
		if !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
	}
}

func open(t *testing.T, m *folder.Memory, kind byte, number uint64) *folder.FrameReader {
	t.Helper()
	in, err := m.Open("x")
	if err != nil {
		t.Fatal(err)
	}
	return folder.NewFrameReader(in, kind, number)
}

// TestParseFrame flips every bit of a frame, makes it longer and shorter, and looks for
// it in other bytes.
func TestParseFrame(t *testing.T) {
	good := seal([]byte("body"), 5, 3)
	if fr, err := folder.ParseFrame(append(bytes.Clone(good), "more"...), folder.LogFrame); err != nil || fr.A != 5 || fr.B != 3 || string(fr.Body) != "body" {
		t.Errorf("%+v, %v", fr, err)
	}
	for i := range 8 * len(good) {
		bad := bytes.Clone(good)
		bad[i/8] ^= 1 << (i % 8)
		if _, err := folder.ParseFrame(bad, folder.LogFrame); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("bit %d is flipped: %v, want ErrCorrupt", i, err)
		}
	}
	for n := range good {
		if _, err := folder.ParseFrame(good[:n], folder.LogFrame); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("%d bytes: %v, want ErrCorrupt", n, err)
		}
	}
	header := bytes.Clone(good)
	copy(header[8:], []byte{0, 0, 0, 0x40}) // 2^30
	if n, err := folder.FrameLength(header); n != 1<<30 || err != nil {
		t.Errorf("the longest frame: %d, %v", n, err)
	}
	header[8]++
	if _, err := folder.FrameLength(header); !errors.Is(err, bloomery.ErrCorrupt) {
		t.Errorf("a longer frame: %v, want ErrCorrupt", err)
	}
	for at, want := range map[int]error{4: bloomery.ErrVersion, 5: bloomery.ErrCorrupt, 6: bloomery.ErrCorrupt, 7: bloomery.ErrCorrupt} {
		other := bytes.Clone(good)
		other[at]++
		table := crc32.MakeTable(crc32.Castagnoli)
		binary.LittleEndian.PutUint32(other[12:], crc32.Update(crc32.Checksum(other[:12], table), table, other[16:]))
		if _, err := folder.ParseFrame(other, folder.LogFrame); !errors.Is(err, want) {
			t.Errorf("byte %d is another, with a sound checksum: %v, want %v", at, err, want)
		}
	}
	parts := bytes.Repeat([]byte{0xff}, folder.FrameHeader) // memory that was used before
	folder.SealFrame(parts, folder.LogFrame, 5, 3, []byte("bo"), []byte("dy"))
	if !bytes.Equal(append(parts, "body"...), good) {
		t.Error("a body in parts makes another frame")
	}
	if len(good) != 32+len("body") {
		t.Errorf("a frame of 4 bytes has %d, want 36: that is the format", len(good))
	}
	if n, err := folder.FrameLength(make([]byte, 32)); n != 0 || !errors.Is(err, bloomery.ErrCorrupt) {
		t.Errorf("the length of no frame: %d, %v", n, err)
	}
	for before, want := range map[string]int{"": 0, "blmr": 4, "x": 1, string(good[:20]): 20} {
		if got := folder.FindFrame(append([]byte(before), good...), folder.LogFrame); got != want {
			t.Errorf("FindFrame behind %q = %d, want %d", before, got, want)
		}
	}
	if got := folder.FindFrame(good, folder.PartFrame); got != -1 {
		t.Errorf("a frame of another kind is found at %d", got)
	}
}

// errWriter is a file that cannot be written.
type errWriter struct{ folder.File }

func (errWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// TestFlushFails checks that a frame that cannot be written is reported.
func TestFlushFails(t *testing.T) {
	w := folder.NewFrameWriter(errWriter{}, folder.PartFrame, 1)
	if err := w.Seal(append(w.Body(), 'x')); err != nil {
		t.Errorf("a small frame is written at once: %v", err)
	}
	if err := w.Flush(); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Flush: %v", err)
	}
}
