package fuse_test

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"runtime"
	"slices"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/fuse"
)

// streamed writes a stream of hashes and reads the filter.
func streamed(t *testing.T, c fuse.Config[uint8], hs iter.Seq[uint64]) *fuse.Filter[uint8] {
	t.Helper()
	var read, done uint64
	c.Progress = func(r, b uint64) { read, done = r, b }
	var buf bytes.Buffer
	if _, err := c.Stream(t.Context(), hs).WriteTo(&buf); err != nil {
		t.Fatal(err)
	}
	if read != done {
		t.Errorf("progress ends with %d, %d, want the same", read, done)
	}
	f, err := fuse.Config[uint8]{}.Read(&buf)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Copies of a key take no memory: neither many in a row nor those that come
// again after many others.
func TestStreamOfCopies(t *testing.T) {
	hs := random(60_000, 5)
	for name, x := range map[string]struct {
		seq      iter.Seq[uint64]
		distinct []uint64
	}{
		"one key":  {slices.Values(slices.Concat(hs[:500], slices.Repeat(hs[:1], 400_000), hs[500:1001])), hs[:1001]},
		"all keys": {slices.Values(slices.Repeat(hs, 30)), hs},
	} {
		f := streamed(t, fuse.Config[uint8]{Scratch: scratch(t), Memory: 1 << 20}, x.seq)
		if got := f.Stats().Items; got != uint64(len(x.distinct)) {
			t.Errorf("%s: %d keys, want %d", name, got, len(x.distinct))
		}
		for _, h := range x.distinct {
			if !f.ContainsHash(h) {
				t.Fatalf("%s: a key is forgotten", name)
			}
		}
	}
}

// There can be more than 2^10 shards if there is memory for their buffers.
func TestStreamInManyShards(t *testing.T) {
	hs := random(20_000, 6)
	c := fuse.Config[uint8]{Shards: 1 << 12}
	want, err := c.Build(t.Context(), slices.Clone(hs))
	if err != nil {
		t.Fatal(err)
	}
	c.Scratch, c.Memory = scratch(t), 64<<20
	if got := streamed(t, c, slices.Values(hs)); !bytes.Equal(encoded(t, got), encoded(t, want)) {
		t.Error("the stream gives other bytes than the build")
	}
	c.Memory = 1 << 20
	if _, err := c.Stream(t.Context(), slices.Values(hs)).WriteTo(io.Discard); !errors.Is(err, bloomery.ErrTooLarge) {
		t.Errorf("in 1 MiB: %v, want ErrTooLarge", err)
	}
}

// The memory given is a bound of all that is allocated, garbage included.
func TestStreamKeepsToItsMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector takes memory of its own")
	}
	place := scratch(t)
	n := uint64(1_000_000)
	keys := func(yield func(uint64) bool) {
		for i := range n {
			if !yield(i * 0x9e3779b97f4a7c15) {
				return
			}
		}
	}
	for _, memory := range []int{4 << 20, 16 << 20} {
		c := fuse.Config[uint8]{Scratch: place, Memory: memory}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		if _, err := c.Stream(t.Context(), keys).WriteTo(io.Discard); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if got, limit := after.TotalAlloc-before.TotalAlloc, uint64(memory)+1<<20; got > limit {
			t.Errorf("%d bytes are allowed, %d were allocated", memory, got)
		} else if got < limit/4 {
			t.Errorf("%d bytes are allowed, %d were allocated: more would be faster", memory, got)
		}
	}
}
