package bloom_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/filtertest"
	"github.com/bloomery/bloomery/hashing"
)

func TestConcurrentConformance(t *testing.T) {
	filtertest.Test(t, filtertest.Kind{
		Name:  "concurrent",
		Rates: []float64{1e-2, 1e-4}, // the layout is Filter's
		Make: func(hs []uint64, n int, p float64) (bloomery.Hashed, error) {
			c, err := bloom.Config{Capacity: n, ErrorRate: p}.NewConcurrent()
			if err != nil {
				return nil, err
			}
			c.AddHashes(nil, hs)
			return c, nil
		},
	})
}

// Several goroutines add the same keys in different ways and orders. Exactly
// one of them is told true for each, all keys are found afterwards, and the
// bits are those of a Filter that one goroutine filled.
func TestConcurrentAdders(t *testing.T) {
	const n, goroutines = 30_000, 4
	hs := hashes(n, 1)
	c := bloom.NewConcurrent(n, 1e-6)
	var fresh [n]atomic.Int32
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			// Each begins elsewhere and takes batches of its own size: none,
			// one that is too small to be sorted, and two that are sorted.
			size := []int{1, 100, 1000, 5000}[g]
			turned := append(slices.Clone(hs[g*n/goroutines:]), hs[:g*n/goroutines]...)
			dst := make([]bool, size)
			for i := 0; i < n; i += size {
				part := turned[i:min(i+size, n)]
				if size == 1 {
					dst[0] = c.AddHash(part[0])
				} else {
					c.AddHashes(dst[:len(part)], part)
				}
				for j := range part {
					if dst[j] {
						fresh[(i+j+g*n/goroutines)%n].Add(1)
					}
					if !c.ContainsHash(part[j]) {
						t.Errorf("key %d is missing right after it was added", i+j)
					}
				}
			}
		})
	}
	wg.Wait()
	for i := range fresh {
		// At 1e-6 the chance that a key seemed to be there is 1% for all.
		if got := fresh[i].Load(); got != 1 {
			t.Fatalf("%d goroutines were told that they added key %d", got, i)
		}
	}
	f := bloom.New(n, 1e-6)
	f.AddHashes(nil, hs)
	want, _ := f.MarshalBinary()
	if got, _ := c.Clone().MarshalBinary(); !bytes.Equal(got, want) {
		t.Error("the bits are not those of a Filter with the same keys")
	}
}

// Readers, batches, Stats, Clone and Clear run beside writers: for the race
// detector, and for what was added before the readers began.
func TestConcurrentReaders(t *testing.T) {
	const n = 20_000
	old, fresh := hashes(n, 2), hashes(n, 3)
	c := bloom.NewConcurrent(2*n, 1e-2)
	c.AddHashes(nil, old)
	var wg sync.WaitGroup
	wg.Go(func() { c.AddHashes(nil, fresh) })
	wg.Go(func() {
		for _, h := range fresh[:2000] {
			c.AddHash(h)
		}
	})
	for range 2 {
		wg.Go(func() {
			dst := make([]bool, n)
			c.ContainsHashes(dst, old)
			if slices.Contains(dst, false) {
				t.Error("a batch misses a key that was added before")
			}
			for _, h := range old[:2000] {
				if !c.ContainsHash(h) {
					t.Error("a key that was added before is missing")
				}
			}
			if s := c.Stats(); s.Saturation == 0 || c.EstimateCount() < n*9/10 {
				t.Errorf("%+v with %d keys", s, n)
			}
			clone := c.Clone()
			for i, h := range old {
				if !clone.ContainsHash(h) {
					t.Fatalf("the clone misses key %d", i)
				}
			}
		})
	}
	wg.Wait()
	wg.Go(c.Clear)
	wg.Go(func() { c.ContainsHashes(make([]bool, n), old) })
	wg.Wait()
	if got := c.EstimateCount(); got != 0 {
		t.Errorf("after Clear %d keys are there", got)
	}
}

func TestConcurrentUnion(t *testing.T) {
	c, f := bloom.NewConcurrent(1000, 0.01), bloom.New(1000, 0.01)
	c.AddString("a")
	f.AddString("b")
	if err := c.Union(f); err != nil || !c.ContainsString("a") || !c.ContainsString("b") {
		t.Errorf("union: a %v, b %v, %v", c.ContainsString("a"), c.ContainsString("b"), err)
	}
	if err := c.Union(bloom.New(9999, 0.01)); !errors.Is(err, bloomery.ErrIncompatible) {
		t.Errorf("union of unlike filters: %v, want ErrIncompatible", err)
	}
	if _, err := (bloom.Config{}).NewConcurrent(); !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("empty Config: %v, want ErrParameter", err)
	}
}

// Numbers of blocks from fewer than there are stripes to many more: no key may
// fall out of the locks.
func TestConcurrentStripes(t *testing.T) {
	for blocks := uint64(1); blocks < 1<<18; blocks = max(blocks+1, blocks*9/8) {
		c, err := bloom.Config{Bits: blocks * 512, Hashes: 4}.NewConcurrent()
		if err != nil {
			t.Fatal(err)
		}
		hs := append(hashes(600, blocks), 0, ^uint64(0), 1<<63)
		c.AddHashes(nil, hs)
		c.AddHash(^uint64(0))
		dst := make([]bool, len(hs))
		c.ContainsHashes(dst, hs)
		if slices.Contains(dst, false) {
			t.Fatalf("%d blocks: a key is missing", blocks)
		}
	}
}

func TestConcurrentKeys(t *testing.T) {
	var keys [][]byte
	for i := range 5000 {
		keys = append(keys, fmt.Appendf(nil, "key %d", i))
	}
	c, one := bloom.NewConcurrent(5000, 0.01), bloom.New(5000, 0.01)
	answers := make([]bool, len(keys))
	c.AddKeys(answers, keys)
	for i, key := range keys {
		if want := one.Add(key); answers[i] != want {
			t.Fatalf("AddKeys answers %v for key %d, Filter.Add %v", answers[i], i, want)
		}
	}
	d := bloom.NewConcurrent(5000, 0.01)
	d.AddSeq(slices.Values(keys))
	d.AddKeys(nil, keys)
	d.Add(keys[0])
	found := make([]bool, len(keys))
	d.ContainsKeys(found, keys)
	if slices.Contains(found, false) || !d.Contains(keys[7]) || !d.ContainsString("key 7") {
		t.Error("a key is missing")
	}
	a, _ := c.Clone().MarshalBinary()
	b, _ := d.Clone().MarshalBinary()
	if !bytes.Equal(a, b) {
		t.Error("AddSeq and AddKeys give different filters")
	}
}

func TestConcurrentAllocatesNothing(t *testing.T) {
	c := bloom.NewConcurrent(10_000, 0.01)
	hs := hashes(5000, 4)
	dst := make([]bool, len(hs))
	if got := testing.AllocsPerRun(20, func() { c.AddHashes(dst, hs); c.AddHashes(nil, hs); c.AddString("x") }); got != 0 {
		t.Errorf("adding allocates %v times", got)
	}
}

func ExampleNewConcurrent() {
	c := bloom.NewConcurrent(1_000_000, 0.01)
	var wg sync.WaitGroup
	var added atomic.Int32
	for range 8 {
		wg.Go(func() {
			if c.AddString("the same key") {
				added.Add(1)
			}
		})
	}
	wg.Wait()
	fmt.Println("told that the key is new:", added.Load())
	// Output: told that the key is new: 1
}

func BenchmarkConcurrent(b *testing.B) {
	const n = 10_000_000
	c := bloom.NewConcurrent(n, 0.01)
	hs := hashes(1<<16, 5)
	b.Run("op=addBatch", func(b *testing.B) {
		perKey(b, func(i int) { c.AddHashes(nil, hs[i:i+4096]) })
	})
	b.Run("op=add", func(b *testing.B) {
		i := 0
		for b.Loop() {
			c.AddHash(hs[i])
			i = (i + 1) % len(hs)
		}
	})
	b.Run("op=addParallel", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			i := 0
			for pb.Next() {
				c.AddHash(hs[i])
				i = (i + 1) % len(hs)
			}
		})
	})
}

// TestConcurrentSaves saves a filter while keys are added: what was added before is in every copy,
// and a copy is a Concurrent again.
func TestConcurrentSaves(t *testing.T) {
	const keys = 50_000
	key := hashing.Keyed([16]byte{1})
	made, err := bloom.Config{Capacity: keys, ErrorRate: 0.01, Hasher: key}.NewConcurrent()
	if err != nil {
		t.Fatal(err)
	}
	var added atomic.Uint64
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range uint64(keys) {
			made.AddHash(key.HashUint64(i))
			added.Store(i + 1)
		}
	})
	for last := false; !last; {
		before := added.Load()
		last = before == keys
		data, err := made.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		back := bloom.Config{Capacity: 1, ErrorRate: 0.1, Hasher: key}
		c, err := back.NewConcurrent()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.UnmarshalBinary(data); err != nil {
			t.Fatal(err)
		}
		for i := range before {
			if !c.ContainsHash(key.HashUint64(i)) {
				t.Fatalf("%d of %d that were added is not in the copy", i, before)
			}
		}
		c.AddString("more")
		if !c.ContainsString("more") {
			t.Fatal("nothing can be added to a copy")
		}
	}
	wg.Wait()
	var written bytes.Buffer
	data, err := made.AppendBinary(nil)
	if _, err2 := made.WriteTo(&written); err != nil || err2 != nil || !bytes.Equal(written.Bytes(), data) {
		t.Errorf("WriteTo and AppendBinary differ: %v, %v", err, err2)
	}
	other := bloom.NewConcurrent(5, 0.1)
	other.AddString("kept")
	if err := other.UnmarshalBinary(data); !errors.Is(err, bloomery.ErrKey) || !other.ContainsString("kept") {
		t.Errorf("without its key: %v", err)
	}
}
