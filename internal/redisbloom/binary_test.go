package redisbloom_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/internal/redisbloom"
)

// TestBinaryDamage flips every byte, and cuts at every length: always an error,
// never a change of the receiver.
func TestBinaryDamage(t *testing.T) {
	b := newBloom(t, redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 4, Expansion: 2})
	c := newCuckoo(t, redisbloom.CuckooParams{Capacity: 4, BucketSize: 2, MaxIterations: 20, Expansion: 2})
	for i := range 20 {
		_, _ = b.Add(item(i))
		_ = c.InsertDigest(redisbloom.CuckooDigest(item(i)))
	}
	check := func(kind string, data []byte, unmarshal func([]byte) error, state func() ([]byte, error)) {
		t.Helper()
		want, _ := state()
		damaged := func(d []byte) {
			t.Helper()
			if err := unmarshal(d); !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrVersion) {
				t.Errorf("%s: %v", kind, err)
			}
			if got, _ := state(); !bytes.Equal(got, want) {
				t.Fatalf("%s: receiver changed", kind)
			}
		}
		for i := range data {
			d := bytes.Clone(data)
			d[i] ^= 1 << (i % 8)
			damaged(d)
			damaged(data[:i])
		}
		damaged(append(bytes.Clone(data), 0))
	}
	other := newBloom(t, redisbloom.BloomParams{ErrorRate: 0.1, Capacity: 10, Expansion: 2})
	data, _ := b.MarshalBinary()
	check("bloom", data, other.UnmarshalBinary, other.MarshalBinary)
	one := newCuckoo(t, redisbloom.CuckooParams{Capacity: 16, BucketSize: 2, MaxIterations: 20})
	data, _ = c.MarshalBinary()
	check("cuckoo", data, one.UnmarshalBinary, one.MarshalBinary)
}

// TestBinaryGolden pins the binary form: files written today must open for ever.
func TestBinaryGolden(t *testing.T) {
	b := newBloom(t, redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 4, Expansion: 2})
	_, _ = b.Add([]byte("hello"))
	c := newCuckoo(t, redisbloom.CuckooParams{Capacity: 8, BucketSize: 1, MaxIterations: 20, Expansion: 1})
	_ = c.InsertDigest(redisbloom.CuckooDigest([]byte("hello")))
	bloom, _ := b.MarshalBinary()
	if got, want := hex.EncodeToString(bloom), bloomGolden; got != want {
		t.Errorf("bloom:\n got %s\nwant %s", got, want)
	}
	cuckoo, _ := c.MarshalBinary()
	if got, want := hex.EncodeToString(cuckoo), cuckooGolden; got != want {
		t.Errorf("cuckoo:\n got %s\nwant %s", got, want)
	}
}

// TestFrozen snapshots filters of several pages while they change, grow, shrink
// and are loaded: the snapshot is what they were at Freeze, and the filter is
// what it would be without.
func TestFrozen(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for round := range 6 {
		b := newBloom(t, redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 150000, Expansion: 2})
		plain := newBloom(t, redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 150000, Expansion: 2})
		c := newCuckoo(t, redisbloom.CuckooParams{Capacity: 1 << 18, BucketSize: 2, MaxIterations: 20, Expansion: 1})
		bare := newCuckoo(t, redisbloom.CuckooParams{Capacity: 1 << 18, BucketSize: 2, MaxIterations: 20, Expansion: 1})
		n := 0
		step := func(adds, loads int) {
			for range adds {
				n++
				d, h := b.Digest(item(n)), redisbloom.CuckooDigest(item(n))
				_, _ = b.AddDigest(d)
				_, _ = plain.AddDigest(d)
				_ = c.InsertDigest(h)
				_ = bare.InsertDigest(h)
				if n%3 == 0 {
					h := redisbloom.CuckooDigest(item(rng.IntN(n)))
					c.DeleteDigest(h)
					bare.DeleteDigest(h)
				}
			}
			for range loads {
				piece := make([]byte, rng.IntN(1000))
				off := rng.Uint64N(200000)
				_ = b.LoadAt(off, piece)
				_ = plain.LoadAt(off, piece)
				_ = c.LoadAt(off, piece)
				_ = bare.LoadAt(off, piece)
			}
		}
		step(149000+rng.IntN(1000), 1) // near the growth of the Bloom filter
		frozen(t, b.Freeze, b.MarshalBinary, func() { step(rng.IntN(4), rng.IntN(2)) }, rng, round%3 == 2)
		frozen(t, c.Freeze, c.MarshalBinary, func() {
			step(rng.IntN(4), rng.IntN(2))
			if rng.IntN(4) == 0 {
				c.Compact()
				bare.Compact()
			}
		}, rng, round%3 == 2)
		equal(t, b.MarshalBinary, plain.MarshalBinary)
		equal(t, c.MarshalBinary, bare.MarshalBinary)
	}
}

// TestFrozenLarge snapshots a filter whose array and whose pages put aside lie
// outside of the Go heap: writers take little from the heap meanwhile.
func TestFrozenLarge(t *testing.T) {
	m := &memory.Arena{Alloc: memory.Map, Free: func(b []byte) { _ = memory.Unmap(b) }}
	b := newBloom(t, redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 20_000_000, Expansion: 2, Memory: m})
	defer b.Release()
	want, _ := b.MarshalBinary()
	f, err := b.Freeze()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range 1000 {
		_, _ = b.AddDigest(b.Digest(item(i)))
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 2<<20 || f.Saved() < 10<<20 {
		t.Errorf("%d bytes put aside took %d bytes of the heap", f.Saved(), got)
	}
	got, err := io.ReadAll(f)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("the snapshot is not what the filter was, %v", err)
	}
	if f.Saved() != 0 {
		t.Errorf("%d bytes are aside at the end", f.Saved())
	}
}

// TestFrozenDropped drops a sub-filter during a snapshot and grows another one
// in its place.
func TestFrozenDropped(t *testing.T) {
	c := newCuckoo(t, redisbloom.CuckooParams{Capacity: 4, BucketSize: 2, MaxIterations: 20, Expansion: 1})
	n := 0
	for ; c.Filters() < 3; n++ {
		_ = c.InsertDigest(redisbloom.CuckooDigest(item(n)))
	}
	want, _ := c.MarshalBinary()
	f, err := c.Freeze()
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		c.DeleteDigest(redisbloom.CuckooDigest(item(i)))
	}
	if c.Filters() == 3 {
		t.Fatal("no sub-filter was dropped")
	}
	for i := 100; c.Filters() < 4; i++ {
		_ = c.InsertDigest(redisbloom.CuckooDigest(item(i)))
	}
	if got, err := io.ReadAll(f); err != nil || !bytes.Equal(got, want) {
		t.Errorf("snapshot, %v:\n got %x\nwant %x", err, got, want)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func equal(t *testing.T, a, b func() ([]byte, error)) {
	t.Helper()
	x, _ := a()
	y, _ := b()
	if !bytes.Equal(x, y) {
		t.Error("filters differ after a snapshot")
	}
}

// frozen reads one snapshot in pieces with changes between them; early closes
// it before its end.
func frozen(t *testing.T, freeze func() (*redisbloom.Frozen, error), state func() ([]byte, error), change func(), rng *rand.Rand, early bool) {
	t.Helper()
	want, _ := state()
	f, err := freeze()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := freeze(); !errors.Is(err, redisbloom.ErrFrozen) {
		t.Errorf("second Freeze: %v", err)
	}
	if f.Len() != int64(len(want)) {
		t.Errorf("Len() = %d, want %d", f.Len(), len(want))
	}
	var got []byte
	for {
		if rng.IntN(2) == 0 {
			change()
		}
		p := make([]byte, 1+rng.IntN(40000))
		n, err := f.Read(p)
		got = append(got, p[:n]...)
		if early && len(got) > len(want)/2 || err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if early {
		want = want[:len(got)]
	}
	if !bytes.Equal(got, want) {
		t.Error("snapshot differs from the filter it was taken of")
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := f.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("Read after Close = %d, %v", n, err)
	}
	again, err := freeze()
	if err != nil {
		t.Fatalf("Freeze after Close: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}

// allocated returns the bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func FuzzBloomHeader(f *testing.F) {
	f.Add(newBloom(f, redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 100, Expansion: 2}).AppendHeader(nil))
	f.Add(newBloom(f, redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 100, NonScaling: true}).AppendHeader(nil))
	f.Add(make([]byte, 73))
	f.Fuzz(func(t *testing.T, data []byte) {
		var h redisbloom.BloomHeader
		var err error
		if n := allocated(func() { h, err = redisbloom.ParseBloomHeader(data) }); n > 1<<16+4*uint64(len(data)) {
			t.Fatalf("%d bytes allocated for %d", n, len(data))
		}
		if err != nil {
			if !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrTooLarge) {
				t.Fatalf("error of another kind: %v", err)
			}
			return
		}
		if h.Bytes() > 1<<20 {
			return
		}
		b := newFromHeader(t, h)
		if got := b.AppendHeader(nil); !bytes.Equal(got, data) {
			t.Fatalf("header comes back as %x, was %x", got, data)
		}
		for i := range 5 {
			if b.GrowBytes(1) > 1<<20 {
				return
			}
			if _, err := b.Add(item(i)); err == nil && !b.Contains(item(i)) {
				t.Fatal("item forgotten")
			}
		}
		b.Stats()
	})
}

func FuzzCuckooHeader(f *testing.F) {
	f.Add(newCuckoo(f, redisbloom.CuckooParams{Capacity: 16, BucketSize: 2, MaxIterations: 20, Expansion: 1}).AppendHeader(nil))
	f.Add(newCuckoo(f, redisbloom.CuckooParams{Capacity: 1000, BucketSize: 255, MaxIterations: 1}).AppendHeader(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		var h redisbloom.CuckooHeader
		var err error
		if n := allocated(func() { h, err = redisbloom.ParseCuckooHeader(data) }); n > 1<<16 {
			t.Fatalf("%d bytes allocated", n)
		}
		if err != nil {
			if !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrTooLarge) {
				t.Fatalf("error of another kind: %v", err)
			}
			return
		}
		if h.Bytes() > 1<<20 {
			return
		}
		c := newFromHeader(t, h)
		if got := c.AppendHeader(nil); !bytes.Equal(got, data) {
			t.Fatalf("header comes back as %x, was %x", got, data)
		}
		for i := range 5 {
			if c.GrowBytes() > 1<<20 {
				return
			}
			if err := c.InsertDigest(redisbloom.CuckooDigest(item(i))); err == nil && !c.Contains(item(i)) {
				t.Fatal("item forgotten")
			}
			c.DeleteDigest(redisbloom.CuckooDigest(item(i - 1)))
		}
		c.Compact()
		c.Stats()
	})
}

func FuzzBinary(f *testing.F) {
	b := newBloom(f, redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 4, Expansion: 2})
	c := newCuckoo(f, redisbloom.CuckooParams{Capacity: 4, BucketSize: 2, MaxIterations: 20, Expansion: 2})
	for i := range 10 {
		_, _ = b.Add(item(i))
		_ = c.InsertDigest(redisbloom.CuckooDigest(item(i)))
	}
	data, _ := b.MarshalBinary()
	f.Add(data[:len(data)-4])
	data, _ = c.MarshalBinary()
	f.Add(data[:len(data)-4])
	f.Fuzz(func(t *testing.T, data []byte) {
		// The checksum is made here, so that the fuzzer gets past it.
		data = binary.LittleEndian.AppendUint32(bytes.Clone(data), redisbloom.Checksum(data))
		var b redisbloom.Bloom
		var c redisbloom.Cuckoo
		for _, v := range []interface {
			UnmarshalBinary([]byte) error
			MarshalBinary() ([]byte, error)
		}{&b, &c} {
			var err error
			// A sub-filter of one byte takes 32 bytes more, and 8 in the heap.
			if n := allocated(func() { err = v.UnmarshalBinary(data) }); n > 1<<16+64*uint64(len(data)) {
				t.Fatalf("%T: %d bytes allocated for %d", v, n, len(data))
			}
			if err != nil {
				if !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrVersion) {
					t.Fatalf("error of another kind: %v", err)
				}
				continue
			}
			if got, _ := v.MarshalBinary(); !bytes.Equal(got, data) {
				t.Fatalf("%T comes back as %x, was %x", v, got, data)
			}
		}
	})
}

const (
	bloomGolden  = "626c6d72424601004900000001000000000000000100000005000000020000000800000000000000400000000000000001000000000000007b14ae47e17a743fe9862fb2350e2640080000000400000000000000002020200202020220b4532021"
	cuckooGolden = "626c6d7243460100260000000100000000000000080000000000000000000000000000000100000000000000010014000100000000000000009fa126054c"
)

// TestOldLayers loads the header of a very old version, whose layer uses a power
// of two of bits, fewer than it has: no other bit is set.
func TestOldLayers(t *testing.T) {
	b := newBloom(t, redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 1000, Expansion: 2})
	header := b.AppendHeader(nil)
	const firstLayer, n2 = 20, 52
	header[firstLayer+n2] = 10
	h, err := redisbloom.ParseBloomHeader(header)
	if err != nil {
		t.Fatal(err)
	}
	old, err := h.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		_, _ = old.Add(item(i))
	}
	for data := range old.Arrays() {
		if used := data[:1<<10/8]; !slices.ContainsFunc(used[64:], func(b byte) bool { return b != 0 }) {
			t.Error("no bit is set in the second half of the power of two")
		}
		if slices.ContainsFunc(data[1<<10/8:], func(b byte) bool { return b != 0 }) {
			t.Error("a bit is set behind the power of two")
		}
	}
	header[firstLayer+n2] = 14 // the layer has less than 2^14 bits
	if _, err := redisbloom.ParseBloomHeader(header); !errors.Is(err, redisbloom.ErrHeader) {
		t.Errorf("a power of two larger than the layer: %v", err)
	}
}
