package file_test

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/codec/file"
)

// A Mapped goes on with the old file when a new one takes its place.
func TestMapOutlivesReplacement(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.bloom")
	write(t, name, filled(1000))
	m, err := file.Map(name, codec.Config{})
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
func large(tb testing.TB, size int64) string {
	tb.Helper()
	f, err := bloom.Config{Bits: uint64(size) * 8, Hashes: 6}.New()
	if err != nil {
		tb.Skip(err)
	}
	name := filepath.Join(tb.TempDir(), "large.bloom")
	out, err := os.Create(name)
	if err != nil {
		tb.Fatal(err)
	}
	defer out.Close()
	if _, err := f.WriteTo(sparseFile{out}); err != nil {
		tb.Fatal(err)
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

// A file of 64 MiB is open within 5 milliseconds; the best try counts, since other
// work may get in the way.
func TestMapOpensAtOnce(t *testing.T) {
	const size = 64 << 20
	name := large(t, size)
	const most = 5 * time.Millisecond
	best := time.Hour
	for deadline := time.Now().Add(10 * time.Second); best > most && time.Now().Before(deadline); {
		start := time.Now()
		m, err := file.Map(name, codec.Config{})
		best = min(best, time.Since(start))
		if err != nil {
			t.Fatal(err)
		}
		if m.ContainsHash(1) || m.Close() != nil {
			t.Error("the filter is not empty, or does not close")
		}
	}
	t.Logf("Map of %d MiB took %v", size>>20, best)
	if best > most {
		t.Errorf("Map took %v, want at most %v", best, most)
	}
}

func BenchmarkMap(b *testing.B) {
	const size = 256 << 20
	name := large(b, size)
	b.Run("op=map", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			m, err := file.Map(name, codec.Config{})
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
			m, err := file.Map(name, codec.Config{})
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
		m, err := file.Map(name, codec.Config{})
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
			if _, err := file.Open(name, codec.Config{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
