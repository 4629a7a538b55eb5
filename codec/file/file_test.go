package file_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

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
		f.AddHash(f.Hasher().HashUint64(i))
	}
	return f
}

func write(tb testing.TB, name string, f io.WriterTo) {
	tb.Helper()
	if err := file.WriteFile(name, f); err != nil {
		tb.Fatal(err)
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

// holding returns a filter of kind k that holds one key, by its hash.
func holding(t *testing.T, k codec.Kind, h uint64, hasher hashing.Hasher) bloomery.Hashed {
	t.Helper()
	if k.Features.Static {
		f, err := k.Build([]uint64{h}, 0.01, hasher)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	f, err := k.New(1000, 0.01, hasher)
	if err != nil {
		t.Fatal(err)
	}
	if a, ok := f.(bloomery.Adder); ok {
		a.AddHash(h)
	} else if err := f.(bloomery.Inserter).InsertHash(h); err != nil {
		t.Fatal(err)
	}
	return f
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
	type filter interface {
		bloomery.Hashed
		io.WriterTo
	}
	type row struct {
		f filter
		h hashing.Hasher
	}
	rows := []row{{filled(100_000), hashing.Hasher{}}, {keyed, key}, {filled(10), hashing.Hasher{}}}
	for _, k := range codec.Kinds() {
		rows = append(rows, row{holding(t, k, 42, key).(filter), key})
	}
	for _, c := range rows {
		write(t, name, c.f)
		only(t, dir, "a.bloom")
		opened, err := file.Open(name, codec.Config{Hasher: c.h})
		if err != nil {
			t.Fatal(err)
		}
		m, err := file.Map(name, codec.Config{Hasher: c.h})
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(m); got != fmt.Sprint(opened) {
			t.Errorf("a Mapped prints %.80q", got)
		}
		if err := m.Verify(); err != nil {
			t.Error(err)
		}
		for i := range uint64(100_000) {
			if h := (hashing.Hasher{}).HashUint64(i); opened.ContainsHash(h) != c.f.ContainsHash(h) || m.ContainsHash(h) != c.f.ContainsHash(h) {
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
		func() error { write(t, name, keyed); _, err := file.Open(name, codec.Config{}); return err },
		func() error { _, err := file.Map(name, codec.Config{}); return err },
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
	if g, err := file.Open(name, codec.Config{}); err != nil || g.Stats() != f.Stats() {
		t.Errorf("Open: %v", err)
	}
	if _, err := file.Map(name, codec.Config{}); !errors.Is(err, bloomery.ErrIncompatible) {
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

// What looks like a leftover and is not ours is neither used nor in the way.
func TestWriteFilePassesOverLeftovers(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a.bloom")
	if err := os.WriteFile(name+".0.tmp", []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(name+".0.bloomery.tmp", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(name+".0.tmp", name+".1.bloomery.tmp"); err != nil {
		t.Skip("no symbolic links here")
	}
	write(t, name, filled(10))
	only(t, dir, "a.bloom", "a.bloom.0.bloomery.tmp", "a.bloom.0.tmp", "a.bloom.1.bloomery.tmp")
	if _, err := file.Open(name, codec.Config{}); err != nil {
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
		_, err := file.Open(path, codec.Config{})
		m, mapErr := file.Map(path, codec.Config{})
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
		_, err := file.Open(path, codec.Config{})
		_, mapErr := file.Map(path, codec.Config{})
		if err == nil || mapErr == nil || strings.Count(err.Error(), path) != 1 || strings.Count(mapErr.Error(), path) != 1 {
			t.Errorf("%v, %v: want errors that name the file once", err, mapErr)
		}
	}
}
