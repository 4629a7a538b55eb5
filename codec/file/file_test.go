package file_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/codec/file"
	"github.com/bloomery/bloomery/hashing"
)

// filled returns a filter of n keys.
func filled(n int) *bloom.Filter {
	f := bloom.New(n, 0.01)
	for i := range uint64(n) {
		f.AddHash(f.Hasher().Uint64(i))
	}
	return f
}

func write(t testing.TB, name string, f io.WriterTo) {
	t.Helper()
	if err := file.WriteFile(name, f); err != nil {
		t.Fatal(err)
	}
}

// only fails if the folder holds anything but the named files.
func only(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(names, " ") {
		t.Errorf("the folder holds %q, want %q", got, names)
	}
}

func TestWriteOpenMap(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a.bloom")
	key := hashing.Keyed([16]byte{1})
	keyed, err := bloom.Config{Capacity: 100, ErrorRate: 0.01, Hasher: key}.NewStandard()
	if err != nil {
		t.Fatal(err)
	}
	keyed.AddString("alice")
	for _, c := range []struct {
		f interface {
			bloomery.Hashed
			io.WriterTo
		}
		h hashing.Hasher
	}{{filled(100_000), hashing.Hasher{}}, {keyed, key}, {filled(10), hashing.Hasher{}}} {
		write(t, name, c.f)
		only(t, dir, "a.bloom")
		opened, err := file.Open(name, c.h)
		if err != nil {
			t.Fatal(err)
		}
		m, err := file.Map(name, c.h)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Verify(); err != nil {
			t.Error(err)
		}
		for i := range uint64(100_000) {
			if h := (hashing.Hasher{}).Uint64(i); opened.ContainsHash(h) != c.f.ContainsHash(h) || m.ContainsHash(h) != c.f.ContainsHash(h) {
				t.Fatal("answers differ")
			}
		}
		if opened.Stats() != c.f.Stats() || m.Stats() != c.f.Stats() {
			t.Error("stats differ")
		}
		for range 2 {
			if err := m.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		}
	}
	for _, open := range []func() error{
		func() error { write(t, name, keyed); _, err := file.Open(name, hashing.Hasher{}); return err },
		func() error { _, err := file.Map(name, hashing.Hasher{}); return err },
	} {
		if err := open(); !errors.Is(err, bloomery.ErrKey) || !strings.Contains(err.Error(), name) {
			t.Errorf("without the key: %v, want ErrKey and the name of the file", err)
		}
	}
}

func TestOpenTransport(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.pak")
	f := filled(1000)
	data, _ := f.MarshalBinary()
	small, err := codec.Compress(nil, data)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, small, 0o600); err != nil {
		t.Fatal(err)
	}
	if g, err := file.Open(name, hashing.Hasher{}); err != nil || g.Stats() != f.Stats() {
		t.Errorf("Open: %v", err)
	}
	if _, err := file.Map(name, hashing.Hasher{}); !errors.Is(err, bloomery.ErrIncompatible) {
		t.Errorf("Map: %v, want ErrIncompatible", err)
	}
}

// failing writes some bytes and then fails.
type failing struct{ err error }

func (f failing) WriteTo(w io.Writer) (int64, error) {
	n, _ := w.Write(make([]byte, 3<<20))
	return int64(n), f.err
}

func TestWriteFileFailsCleanly(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a.bloom")
	write(t, name, filled(10))
	before, _ := os.ReadFile(name)
	broken := errors.New("no more")
	if err := file.WriteFile(name, failing{broken}); !errors.Is(err, broken) || !strings.Contains(err.Error(), name) {
		t.Errorf("a filter that fails: %v", err)
	}
	only(t, dir, "a.bloom")
	if after, _ := os.ReadFile(name); !bytes.Equal(before, after) {
		t.Error("the old file has changed")
	}
	if err := file.WriteFile(filepath.Join(dir, "none", "b"), filled(10)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no such folder: %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := file.WriteFile(filepath.Join(dir, "folder"), filled(10)); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("a folder in the way: %v", err)
	}
	only(t, dir, "a.bloom", "folder")
}

// What a crash left behind is neither used nor in the way.
func TestWriteFilePassesOverLeftovers(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a.bloom")
	if err := os.WriteFile(name+".0.tmp", []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, name, filled(10))
	only(t, dir, "a.bloom", "a.bloom.0.tmp")
	if _, err := file.Open(name, hashing.Hasher{}); err != nil {
		t.Error(err)
	}
}

func TestWriteFileKeepsPermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("windows has other permissions")
	}
	name := filepath.Join(t.TempDir(), "a.bloom")
	write(t, name, filled(10))
	if err := os.Chmod(name, 0o640); err != nil {
		t.Fatal(err)
	}
	write(t, name, filled(20))
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("permissions are %v (%v), want 0640", info.Mode(), err)
	}
}

func TestDamagedFiles(t *testing.T) {
	dir := t.TempDir()
	data, _ := filled(10_000).MarshalBinary()
	flipped := bytes.Clone(data)
	flipped[5000] ^= 1
	for name, bad := range map[string][]byte{
		"empty": nil, "short": data[:20], "cut": data[:5000], "long": append(bytes.Clone(data), 0), "text": bytes.Repeat([]byte("text"), 99), "flipped": flipped,
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := file.Open(path, hashing.Hasher{})
		m, mapErr := file.Map(path, hashing.Hasher{})
		if mapErr == nil {
			mapErr = m.Verify()
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		}
		for _, err := range []error{err, mapErr} {
			if !errors.Is(err, bloomery.ErrCorrupt) || !strings.Contains(err.Error(), path) {
				t.Errorf("%s: %v, want ErrCorrupt and the name of the file", name, err)
			}
		}
	}
	for _, path := range []string{filepath.Join(dir, "none"), dir} {
		_, err := file.Open(path, hashing.Hasher{})
		_, mapErr := file.Map(path, hashing.Hasher{})
		if err == nil || mapErr == nil || strings.Count(err.Error(), path) != 1 || strings.Count(mapErr.Error(), path) != 1 {
			t.Errorf("%v, %v: want errors that name the file once", err, mapErr)
		}
	}
}

// A Mapped goes on with the old file when a new one takes its place.
func TestMapOutlivesReplacement(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.bloom")
	write(t, name, filled(1000))
	m, err := file.Map(name, hashing.Hasher{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	want := m.Stats()
	write(t, name, filled(50_000))
	if m.Stats() != want || m.Verify() != nil {
		t.Error("the mapped filter has changed")
	}
}

// large makes a file of the given size with the header of an empty filter and
// holes behind it.
func large(t testing.TB, size int64) string {
	t.Helper()
	f, err := bloom.Config{Bits: uint64(size) * 8, Hashes: 6}.New()
	if err != nil {
		t.Skip(err)
	}
	name := filepath.Join(t.TempDir(), "large.bloom")
	out, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if _, err := f.WriteTo(sparseFile{out}); err != nil {
		t.Fatal(err)
	}
	return name
}

// sparseFile skips what it is given in large pieces: they are zeros.
type sparseFile struct{ *os.File }

func (s sparseFile) Write(b []byte) (int, error) {
	if len(b) < 1<<20 {
		return s.File.Write(b)
	}
	_, err := s.Seek(int64(len(b)), io.SeekCurrent)
	return len(b), err
}

// A file of 1 GiB is open within 5 milliseconds; the best of some tries
// counts, since other work may get in the way.
func TestMapOpensAtOnce(t *testing.T) {
	size := int64(1 << 30)
	if testing.Short() {
		size = 64 << 20
	}
	name := large(t, size)
	best := time.Hour
	for range 10 {
		start := time.Now()
		m, err := file.Map(name, hashing.Hasher{})
		best = min(best, time.Since(start))
		if err != nil {
			t.Fatal(err)
		}
		if m.ContainsHash(1) || m.Close() != nil {
			t.Error("the filter is not empty, or does not close")
		}
	}
	t.Logf("Map of %d MiB took %v", size>>20, best)
	if best > 5*time.Millisecond {
		t.Errorf("Map took %v, want at most 5ms", best)
	}
}

func BenchmarkMap(b *testing.B) {
	const size = 256 << 20
	name := large(b, size)
	b.Run("op=map", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			m, err := file.Map(name, hashing.Hasher{})
			if err != nil {
				b.Fatal(err)
			}
			if err := m.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("op=mapAndVerify", func(b *testing.B) {
		b.SetBytes(size)
		for b.Loop() {
			m, err := file.Map(name, hashing.Hasher{})
			if err != nil {
				b.Fatal(err)
			}
			if err := m.Verify(); err != nil {
				b.Fatal(err)
			}
			if err := m.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("op=verify", func(b *testing.B) {
		m, err := file.Map(name, hashing.Hasher{})
		if err != nil {
			b.Fatal(err)
		}
		defer m.Close()
		b.SetBytes(size)
		for b.Loop() {
			if err := m.Verify(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("op=open", func(b *testing.B) {
		b.SetBytes(size)
		for b.Loop() {
			if _, err := file.Open(name, hashing.Hasher{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
