package redisbloom_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/internal/redisbloom"
)

// TestPieces snapshots filters piece by piece while they change, and puts them
// together again: the result is what they were at Freeze.
func TestPieces(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 4 {
		b := newBloom(t, redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 100000, Expansion: 2})
		c := newCuckoo(t, redisbloom.CuckooParams{Capacity: 1 << 16, BucketSize: 2, MaxIterations: 20, Expansion: 1})
		n := 0
		step := func(adds int) {
			for range adds {
				n++
				_, _ = b.AddDigest(b.Digest(item(n)))
				_ = c.InsertDigest(redisbloom.CuckooDigest(item(n)))
			}
		}
		step(99900)
		want, _ := b.MarshalBinary()
		f, err := b.Freeze()
		if err != nil {
			t.Fatal(err)
		}
		bloom := pieces(t, f, redisbloom.NewBloomLoader, func() { step(rng.IntN(5)) })
		if got, _ := bloom.MarshalBinary(); !bytes.Equal(got, want) {
			t.Error("bloom: pieces give another filter")
		}
		want, _ = c.MarshalBinary()
		if f, err = c.Freeze(); err != nil {
			t.Fatal(err)
		}
		cuckoo := pieces(t, f, redisbloom.NewCuckooLoader, func() {
			step(rng.IntN(5))
			if rng.IntN(3) == 0 {
				c.Compact()
			}
		})
		if got, _ := cuckoo.MarshalBinary(); !bytes.Equal(got, want) {
			t.Error("cuckoo: pieces give another filter")
		}
	}
}

// starter is a function that starts to load an F.
type starter[F interface{ Release() }] func([]byte, int64, *memory.Arena) (*redisbloom.Loader[F], error)

// pieces reads a snapshot in pieces with changes between them, and loads them.
func pieces[F interface{ Release() }](t *testing.T, f *redisbloom.Frozen, start starter[F], change func()) F {
	t.Helper()
	buf := make([]byte, 16<<10)
	first, off := f.Next(buf)
	if off != 0 {
		t.Fatalf("first piece at %d", off)
	}
	l, err := start(first, f.Size(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Done(); f.Size() > int64(len(first)) && !errors.Is(err, bloomery.ErrCorrupt) {
		t.Errorf("Done before the last piece: %v", err)
	}
	for {
		change()
		piece, off := f.Next(buf)
		if len(piece) == 0 {
			break
		}
		if err := l.Put(piece, off); err != nil {
			t.Fatal(err)
		}
	}
	if f.Saved() != 0 {
		t.Errorf("%d bytes put aside at the end", f.Saved())
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	loaded, err := l.Done()
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// TestLoaderCountsPlaces puts the first half of a filter twice, which has the
// length of the whole: what has not come is missing.
func TestLoaderCountsPlaces(t *testing.T) {
	b := newBloom(t, redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 60000, Expansion: 2})
	f, err := b.Freeze()
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4096)
	first, _ := f.Next(buf)
	l, err := redisbloom.NewBloomLoader(first, f.Size(), nil)
	if err != nil {
		t.Fatal(err)
	}
	whole := int(b.Layer(0).Bytes)
	put := 0
	for put < whole/2 {
		piece, off := f.Next(buf)
		if err := l.Put(piece, off); err != nil {
			t.Fatal(err)
		}
		for _, bad := range []struct {
			piece []byte
			off   int64
		}{{piece, off}, {piece[1:], off + 1}, {piece[:1], off}, {piece[:0], off}, {piece, off + 2048}, {piece, -1}, {piece, f.Size()}} {
			if err := l.Put(bad.piece, bad.off); !errors.Is(err, bloomery.ErrCorrupt) {
				t.Errorf("%d bytes at %d after %d at %d: %v", len(bad.piece), bad.off, len(piece), off, err)
			}
		}
		put += len(piece)
	}
	if _, err := l.Done(); !errors.Is(err, bloomery.ErrCorrupt) {
		t.Errorf("Done after half of the pages: %v", err)
	}
}

// TestNextShort reads a snapshot with buffers shorter than a page: nothing is
// passed over.
func TestNextShort(t *testing.T) {
	b := newBloom(t, redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 60000, Expansion: 2})
	for i := range 60000 {
		_, _ = b.Add(item(i))
	}
	want, _ := b.MarshalBinary()
	for _, n := range []int{0, 1, 4095, 4096, 5000} {
		f, err := b.Freeze()
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, f.Size())
		sum := int64(0)
		for {
			piece, off := f.Next(make([]byte, n))
			if len(piece) == 0 {
				break
			}
			copy(got[off:], piece)
			sum += int64(len(piece))
		}
		if sum != f.Size() || !bytes.Equal(got, want[:len(want)-4]) {
			t.Errorf("buffers of %d bytes: %d bytes of %d, or others", n, sum, f.Size())
		}
		_ = f.Close()
	}
}

// load puts one piece and asks for the result.
func load[F interface{ Release() }](start starter[F], first []byte, size int64, piece []byte, off int64) error {
	l, err := start(first, size, nil)
	if err != nil {
		return err
	}
	if err := l.Put(piece, off); err != nil {
		return err
	}
	_, err = l.Done()
	return err
}

func FuzzLoader(f *testing.F) {
	b, c := newBloom(f, redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 10, Expansion: 2}), newCuckoo(f, redisbloom.CuckooParams{Capacity: 8, BucketSize: 2, MaxIterations: 2})
	s, k, d := newCountMin(f, 4, 2), newTopK(f, redisbloom.TopKParams{K: 2, Width: 4, Depth: 2, Decay: 0.9}), newTDigest(f, 10)
	k.Add([]byte("item"))
	_ = d.Add(1, 2, 3)
	for _, freeze := range []func() (*redisbloom.Frozen, error){b.Freeze, c.Freeze, s.Freeze, k.Freeze, d.Freeze} {
		z, err := freeze()
		if err != nil {
			f.Fatal(err)
		}
		first, _ := z.Next(nil)
		piece, off := z.Next(nil)
		f.Add(bytes.Clone(first), z.Size(), bytes.Clone(piece), off)
	}
	f.Fuzz(func(t *testing.T, first []byte, size int64, piece []byte, off int64) {
		if size > 1<<20 {
			return
		}
		for i, err := range []error{
			load(redisbloom.NewBloomLoader, first, size, piece, off),
			load(redisbloom.NewCuckooLoader, first, size, piece, off),
			load(redisbloom.NewCountMinLoader, first, size, piece, off),
			load(redisbloom.NewTopKLoader, first, size, piece, off),
			load(redisbloom.NewTDigestLoader, first, size, piece, off),
		} {
			if err != nil && !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrVersion) {
				t.Fatalf("loader %d: error %v wraps neither cause", i, err)
			}
		}
	})
}
