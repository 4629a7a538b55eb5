package fuse_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/codec/file"
	"github.com/bloomery/bloomery/fuse"
	"github.com/bloomery/bloomery/hashing"
)

// disk is a Scratch in memory, of limited size. Its first goroutine error is
// that of a full one.
type disk struct {
	*file.Scratch
	room int64
	cut  int64 // what is written behind is lost
}

var errFull = errors.New("no space left on device")

func (d *disk) WriteAt(b []byte, at int64) (int, error) {
	if at+int64(len(b)) > d.room {
		return 0, errFull
	}
	if at+int64(len(b)) > d.cut {
		return len(b), nil
	}
	return d.Scratch.WriteAt(b, at)
}

// scratch returns a Scratch in a folder that must be empty when the test ends.
func scratch(tb testing.TB) *file.Scratch {
	tb.Helper()
	dir := tb.TempDir()
	s, err := file.NewScratch(dir)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			tb.Errorf("%d files are left behind", len(left))
		}
	})
	return s
}

// A stream gives the bytes of a build in memory.
func TestStream(t *testing.T) {
	for _, c := range []struct {
		n, memory, shards int
		duplicates        bool
	}{
		{0, 0, 0, false},
		{1, 1 << 20, 0, false},
		{1000, 1 << 20, 0, true},
		{200_000, 0, 0, true},
		{200_000, 1 << 20, 0, true},
		{200_000, 3 << 20, 0, false},
		{200_000, 0, 16, false},
	} {
		hs := random(c.n, 7)
		if c.duplicates {
			hs = append(hs, hs[:c.n/2]...)
		}
		var read, done uint64
		config := fuse.Config[uint16]{
			Shards: c.shards, Memory: c.memory, Scratch: scratch(t), Hasher: hashing.Seeded(5),
			Progress: func(r, b uint64) { read, done = r, b },
		}
		var buf bytes.Buffer
		n, err := config.Stream(t.Context(), slices.Values(hs)).WriteTo(&buf)
		if err != nil || n != int64(buf.Len()) {
			t.Fatalf("%+v: %d bytes, %v", c, n, err)
		}
		if read != uint64(len(hs)) || done != read {
			t.Errorf("%+v: progress ends with %d of %d", c, done, read)
		}
		var f fuse.Filter[uint16]
		if err := f.UnmarshalBinary(buf.Bytes()); err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		holds(t, &f, hs)
		if f.Shards() == 1 && c.memory == 1<<20 && c.n == 200_000 {
			t.Errorf("%+v: one shard cannot have been built in 1 MiB", c)
		}
		want := encoded(t, built(t, fuse.Config[uint16]{Shards: f.Shards(), Hasher: hashing.Seeded(5)}, hs))
		if !bytes.Equal(buf.Bytes(), want) {
			t.Errorf("%+v: the stream gives other bytes than a build in memory", c)
		}
	}
}

func TestStreamFails(t *testing.T) {
	hs := random(100_000, 8)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		config fuse.Config[uint8]
		ctx    context.Context
		want   error
		text   string
	}{
		"no scratch":     {fuse.Config[uint8]{}, t.Context(), bloomery.ErrParameter, "Scratch"},
		"little memory":  {fuse.Config[uint8]{Memory: 1000, Scratch: &disk{}}, t.Context(), bloomery.ErrParameter, "1000 bytes"},
		"minus memory":   {fuse.Config[uint8]{Memory: -1, Scratch: &disk{}}, t.Context(), bloomery.ErrParameter, "-1 bytes"},
		"bad arity":      {fuse.Config[uint8]{Arity: 1, Scratch: &disk{}}, t.Context(), bloomery.ErrParameter, "arity 1"},
		"one shard":      {fuse.Config[uint8]{Memory: 1 << 20, Shards: 1, Scratch: scratch(t)}, t.Context(), bloomery.ErrTooLarge, "100000 keys"},
		"many shards":    {fuse.Config[uint8]{Memory: 1 << 20, Shards: 1 << 15, Scratch: scratch(t)}, t.Context(), bloomery.ErrTooLarge, "2^15"},
		"full disk":      {fuse.Config[uint8]{Scratch: &disk{scratch(t), 500_000, 1 << 40}}, t.Context(), errFull, "scratch: write"},
		"full at end":    {fuse.Config[uint8]{Scratch: &disk{scratch(t), 800_001, 1 << 40}}, t.Context(), errFull, "scratch: write"},
		"lost scratch":   {fuse.Config[uint8]{Scratch: &disk{scratch(t), 1 << 40, 500_000}}, t.Context(), bloomery.ErrCorrupt, "scratch: read"},
		"lost at end":    {fuse.Config[uint8]{Scratch: &disk{scratch(t), 1 << 40, 810_000}}, t.Context(), bloomery.ErrCorrupt, "scratch: read"},
		"cancelled":      {fuse.Config[uint8]{Scratch: scratch(t)}, cancelled, context.Canceled, "stream"},
		"rate too small": {fuse.Config[uint8]{ErrorRate: 1e-4, Scratch: scratch(t)}, t.Context(), bloomery.ErrParameter, "16 bits"},
	} {
		_, err := c.config.Stream(c.ctx, slices.Values(hs)).WriteTo(io.Discard)
		if !errors.Is(err, c.want) || !strings.HasPrefix(err.Error(), "fuse: stream: ") || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want %v and %q", name, err, c.want, c.text)
		}
	}
}

// A stream that fails leaves no file behind.
func TestStreamToFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a.fuse8")
	hs := random(20_000, 9)
	s := fuse.Config[uint8]{Scratch: &disk{scratch(t), 100_000, 1 << 40}}.Stream(t.Context(), slices.Values(hs))
	if err := file.WriteFile(name, s); !errors.Is(err, errFull) {
		t.Errorf("full disk: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%d files are left behind", len(left))
	}
	s = fuse.Config[uint8]{Scratch: scratch(t)}.Stream(t.Context(), slices.Values(hs))
	if err := file.WriteFile(name, s); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	v, err := fuse.Config[uint8]{}.View(data)
	if err != nil || v.Verify() != nil {
		t.Fatal(err, v.Verify())
	}
	for _, h := range hs {
		if !v.ContainsHash(h) {
			t.Fatalf("hash %#x is forgotten", h)
		}
	}
}

// TestLargeStream builds a filter of as many keys, in as much memory, as the
// environment says, and is skipped otherwise:
//
//	BLOOMERY_STREAM_KEYS=1000000000 BLOOMERY_STREAM_MEMORY=1800000000 \
//	  /usr/bin/time -v go test -run TestLargeStream -timeout 3h -v ./fuse
//
// Beside the memory that is allowed there is that of the Go runtime. Scratch
// and filter lie in TMPDIR.
func TestLargeStream(t *testing.T) {
	keys, err := strconv.ParseUint(os.Getenv("BLOOMERY_STREAM_KEYS"), 10, 64)
	if err != nil {
		t.Skip("BLOOMERY_STREAM_KEYS is not set")
	}
	allowed, err := strconv.Atoi(os.Getenv("BLOOMERY_STREAM_MEMORY"))
	if err != nil {
		t.Fatal("BLOOMERY_STREAM_MEMORY is not set")
	}
	var hasher hashing.Hasher
	stream := func(yield func(uint64) bool) {
		for i := range keys {
			if !yield(hasher.HashUint64(i)) {
				return
			}
		}
	}
	begin, last := time.Now(), time.Time{}
	config := fuse.Config[uint8]{Scratch: scratch(t), Memory: allowed, Progress: func(read, built uint64) {
		if time.Since(last) > 10*time.Second {
			last = time.Now()
			t.Logf("%v: %d read, %d built", time.Since(begin).Round(time.Second), read, built)
		}
	}}
	name := filepath.Join(t.TempDir(), "large.fuse8")
	if err := file.WriteFile(name, config.Stream(t.Context(), stream)); err != nil {
		t.Fatal(err)
	}
	took := time.Since(begin)
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	if stats.Sys > uint64(allowed)+128<<20 {
		t.Errorf("%d MiB were taken from the system, %d MiB allowed", stats.Sys>>20, allowed>>20)
	}
	m, err := file.Map(name, codec.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for i := uint64(0); i < keys; i += 1 + keys/10_000_000 {
		if !m.ContainsHash(hasher.HashUint64(i)) {
			t.Fatalf("key %d is forgotten", i)
		}
	}
	wrong := 0
	const asked = 1_000_000
	for i := range uint64(asked) {
		if m.ContainsHash(hasher.HashUint64(keys + i)) {
			wrong++
		}
	}
	s := m.Stats()
	t.Logf("%d keys in %v, %.3f bits per key, rate %.4f%%, %d MiB from the system",
		s.Items, took.Round(time.Millisecond), float64(s.Bytes)*8/float64(s.Items), 100*float64(wrong)/asked, stats.Sys>>20)
}

// A stream whose source fails says so by its context: nothing is written then.
func TestStreamTruncated(t *testing.T) {
	lost := errors.New("source lost")
	ctx, fail := context.WithCancelCause(t.Context())
	hs := random(1000, 12)
	truncated := func(yield func(uint64) bool) {
		for _, h := range hs[:500] {
			if !yield(h) {
				return
			}
		}
		fail(lost)
	}
	var out bytes.Buffer
	_, err := fuse.Config[uint8]{Scratch: scratch(t)}.Stream(ctx, truncated).WriteTo(&out)
	if !errors.Is(err, lost) || out.Len() > 0 {
		t.Errorf("%v and %d bytes, want %v and none", err, out.Len(), lost)
	}
}
