package redisbloom_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"sync"
	"testing"

	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/internal/redisbloom"
)

// TestForksOfTDigest forks a digest and changes it in every way there is. Forks, also of forks, stay what it was, it is
// the digest that it would be without them, and arrays that only forks need are counted, and freed once.
func TestForksOfTDigest(t *testing.T) {
	other := newTDigest(t, 50)
	_ = other.Add(1, 2, 3)
	for name, change := range map[string]func(*redisbloom.TDigest) error{
		"add":      func(d *redisbloom.TDigest) error { return d.Add(-1, 7, 1e9) },
		"add much": func(d *redisbloom.TDigest) error { return d.Add(make([]float64, 10_000)...) },
		"compress": func(d *redisbloom.TDigest) error { d.Compress(); return nil },
		"reset":    func(d *redisbloom.TDigest) error { d.Reset(); return d.Add(5, 6) },
		"begin":    func(d *redisbloom.TDigest) error { _ = d.Begin(d.AppendHeader(nil)); return d.Add(5, 6) },
		"widen":    func(d *redisbloom.TDigest) error { _ = d.Begin(other.AppendHeader(nil)); return d.Add(5, 6) },
		"merge":    func(d *redisbloom.TDigest) error { return d.Merge(other) },
		"replace": func(d *redisbloom.TDigest) error {
			data, _ := other.MarshalBinary()
			return d.UnmarshalBinary(data)
		},
		"swap": func(d *redisbloom.TDigest) error {
			ready := d.Fork()
			err := ready.Add(9)
			ready.Compress()
			d.Swap(ready)
			ready.Release()
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			a, m := newArena(t, math.MaxInt)
			d, err := redisbloom.NewTDigest(redisbloom.TDigestParams{Compression: 100, Memory: m})
			if err != nil {
				t.Fatal(err)
			}
			same := newTDigest(t, 100)
			for i := range 500 {
				_ = d.Add(float64(i * 7919 % 500))
				_ = same.Add(float64(i * 7919 % 500))
			}
			want, _ := d.MarshalBinary()
			bytesBefore := d.Bytes()
			z, err := d.Freeze()
			if err != nil {
				t.Fatal(err)
			}
			fork := d.Fork()
			again := fork.Fork()
			if len(a.out) != 1 || m.Kept() != 0 {
				t.Errorf("%d arrays, %d bytes for forks alone", len(a.out), m.Kept())
			}
			for range 2 {
				if err := change(d); err != nil {
					t.Fatal(err)
				}
				if err := change(same); err != nil {
					t.Fatal(err)
				}
			}
			equal(t, d.MarshalBinary, same.MarshalBinary)
			if kept := m.Kept(); kept != 0 && kept != int64(16*610) || len(a.out) != 1+int(kept/(16*610)) {
				t.Errorf("%d arrays, %d bytes for forks alone; the digest had %d", len(a.out), kept, bytesBefore)
			}
			for i, f := range []*redisbloom.TDigest{fork, again} {
				if got, _ := f.MarshalBinary(); !bytes.Equal(got, want) {
					t.Errorf("fork %d has changed", i)
				}
			}
			if got, err := io.ReadAll(z); err != nil || !bytes.Equal(got, want) {
				t.Errorf("the snapshot differs, %v", err)
			}
			_ = again.Add(3)
			fork.Compress()
			d.Release()
			if got, _ := fork.MarshalBinary(); fork.Observations() != 500 || again.Observations() != 501 || bytes.Equal(got, want) {
				t.Errorf("forks have %d and %d values", fork.Observations(), again.Observations())
			}
			_ = z.Close()
			_ = z.Close()
			fork.Release()
			again.Release()
			if a.empty(); m.Kept() != 0 {
				t.Errorf("%d bytes are counted for forks that are gone", m.Kept())
			}
		})
	}
}

// TestForksAreReadMeanwhile reads and compresses forks while values are added to the digest, and it is compressed and reset.
func TestForksAreReadMeanwhile(t *testing.T) {
	m := &memory.Arena{Alloc: func(n int) ([]byte, error) { return make([]byte, n), nil }, Free: func(b []byte) { clear(b) }}
	d, err := redisbloom.NewTDigest(redisbloom.TDigestParams{Compression: 1000, Memory: m})
	if err != nil {
		t.Fatal(err)
	}
	var readers sync.WaitGroup
	for turn := range 40 {
		want, _ := d.MarshalBinary()
		fork := d.Fork()
		readers.Go(func() {
			if got, _ := fork.MarshalBinary(); !bytes.Equal(got, want) {
				t.Errorf("turn %d: the fork has changed", turn)
			}
			fork.Compress()
			fork.Release()
		})
		for i := range 500 {
			_ = d.Add(float64(i * turn))
		}
		if turn%4 == 0 {
			d.Compress()
		}
		if turn%10 == 9 {
			d.Reset()
		}
	}
	if readers.Wait(); m.Kept() != 0 {
		t.Errorf("%d bytes are counted for forks that are gone", m.Kept())
	}
}

// TestForkWithoutMemory compresses and replaces a digest that has a fork, though the Arena has no other array: nobody refuses
// that, and the Arena gets no array that it has not given.
func TestForkWithoutMemory(t *testing.T) {
	for name, change := range map[string]func(*redisbloom.TDigest) error{
		"compress": func(d *redisbloom.TDigest) error { d.Compress(); return nil },
		"begin":    func(d *redisbloom.TDigest) error { return d.Begin(d.AppendHeader(nil)) },
	} {
		a, m := newArena(t, 1)
		d, err := redisbloom.NewTDigest(redisbloom.TDigestParams{Compression: 100, Memory: m})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 500 {
			_ = d.Add(float64(i))
		}
		fork := d.Fork()
		want, _ := d.MarshalBinary()
		if err := change(d); err != nil {
			t.Error(err)
		}
		if got, _ := fork.MarshalBinary(); !bytes.Equal(got, want) || d.Stats().UnmergedNodes != 0 {
			t.Errorf("%s: %d nodes are not merged, or the fork has changed", name, d.Stats().UnmergedNodes)
		}
		d.Release()
		fork.Release()
		a.empty()
	}
}

// TestForkOfAFullDigest adds to a digest that is full of merged nodes, as only a loaded one is: they are halved, and its fork
// stays what it was.
func TestForkOfAFullDigest(t *testing.T) {
	d := newTDigest(t, 100)
	one := binary.LittleEndian.AppendUint64(nil, math.Float64bits(1))
	if err := d.LoadNodes(bytes.Repeat(append(one, 2, 0, 0, 0, 0, 0, 0, 0), 609), false); err != nil {
		t.Fatal(err)
	}
	fork := d.Fork()
	want, _ := d.MarshalBinary()
	if err := d.Add(3); err != nil || d.Stats().MergedNodes > 310 {
		t.Fatalf("%d merged nodes, %v", d.Stats().MergedNodes, err)
	}
	if got, _ := fork.MarshalBinary(); !bytes.Equal(got, want) {
		t.Error("the fork has changed")
	}
}

// TestFreezeOfTDigest asks that nothing of a digest is copied when it is frozen: its lock is held meanwhile.
func TestFreezeOfTDigest(t *testing.T) {
	d := newTDigest(t, 20_000)
	for i := range 100_000 {
		if err := d.Add(float64(i)); err != nil {
			t.Fatal(err)
		}
	}
	var z *redisbloom.Frozen
	if n := allocated(func() { z, _ = d.Freeze() }); n > uint64(z.Size())/20 {
		t.Errorf("%d bytes are made for a copy of %d", n, z.Size())
	}
}
