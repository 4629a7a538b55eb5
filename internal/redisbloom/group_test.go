package redisbloom_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/internal/redisbloom"
)

// someDigests returns n digests of which about a third come more than once.
func someDigests(rng *rand.Rand, n int) []redisbloom.Digest {
	ds := make([]redisbloom.Digest, n)
	for i := range ds {
		if ds[i] = (redisbloom.Digest{A: rng.Uint64(), B: rng.Uint64()}); i > 0 && rng.IntN(3) == 0 {
			ds[i] = ds[rng.IntN(i)]
		}
	}
	return ds
}

// TestBloomBatches asks that batches of any length do what single items do: the
// same answers and the same bytes, with few hashes and many, while the filter
// grows in the middle of a batch, below and above the size from which memory is
// asked for ahead.
func TestBloomBatches(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, p := range []redisbloom.BloomParams{
		{ErrorRate: 0.25, Capacity: 10, Expansion: 1},
		{ErrorRate: 0.2, Capacity: 100, Expansion: 2},
		{ErrorRate: 0.01, Capacity: 7, Expansion: 2},
		{ErrorRate: 0.01, Capacity: 250_000, Expansion: 2},
		{ErrorRate: 1e-9, Capacity: 60_000, Expansion: 1},
	} {
		t.Run(fmt.Sprintf("error=%v/capacity=%d", p.ErrorRate, p.Capacity), func(t *testing.T) {
			n := 2000
			if p.Capacity > 1000 {
				n = int(p.Capacity) * 9 / 4
			}
			one, many := newBloom(t, p), newBloom(t, p)
			ds := someDigests(rng, n)
			dst := make([]bool, 300)
			for at := 0; at < len(ds); {
				batch := ds[at:min(at+1+rng.IntN(len(dst)), len(ds))]
				done, err := many.AddDigests(dst, batch, 1<<40)
				if done != len(batch) || err != nil {
					t.Fatalf("AddDigests: %d of %d, %v", done, len(batch), err)
				}
				for i, d := range batch {
					fresh, err := one.AddDigest(d)
					if err != nil || fresh != dst[i] {
						t.Fatalf("item %d: %t in a batch, %t alone, %v", at+i, dst[i], fresh, err)
					}
				}
				at += len(batch)
			}
			if !bytes.Equal(binaryForm(t, one), binaryForm(t, many)) {
				t.Fatal("a filter filled by batches is another one")
			}
			asked := append(someDigests(rng, 2000), ds[:2000]...)
			rng.Shuffle(len(asked), func(i, j int) { asked[i], asked[j] = asked[j], asked[i] })
			for len(asked) > 0 {
				batch := asked[:min(1+rng.IntN(len(dst)), len(asked))]
				many.ContainsDigests(dst, batch)
				for i, d := range batch {
					if want := one.ContainsDigest(d); dst[i] != want {
						t.Fatalf("ContainsDigests: %t, alone %t, with %d layers", dst[i], want, one.Layers())
					}
				}
				asked = asked[len(batch):]
			}
		})
	}
}

// TestBloomBatchWithoutRoom asks that a batch stops at the item that needs a
// layer, and that what is behind it is left alone.
func TestBloomBatchWithoutRoom(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	b := newBloom(t, redisbloom.BloomParams{ErrorRate: 1e-9, Capacity: 20, Expansion: 2})
	ds := make([]redisbloom.Digest, 100)
	for i := range ds {
		ds[i] = redisbloom.Digest{A: rng.Uint64(), B: rng.Uint64()}
	}
	dst := make([]bool, len(ds))
	n, err := b.AddDigests(dst, ds, b.GrowBytes(21)) // one more layer, of 40
	if n != 60 || !errors.Is(err, memory.ErrRoom) || b.Items() != 60 {
		t.Fatalf("AddDigests: %d, %v; %d items, want 60 and ErrBudget", n, err, b.Items())
	}
	for i, d := range ds {
		if dst[i] != (i < n) || b.ContainsDigest(d) != (i < n) {
			t.Fatalf("item %d: new %t, there %t, and %d were added", i, dst[i], b.ContainsDigest(d), n)
		}
	}
}

// TestCuckooWriteBatches asks that batches of inserts and deletes do what single
// ones do, in filters below and above the size from which memory is asked for
// ahead.
func TestCuckooWriteBatches(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, p := range []redisbloom.CuckooParams{
		{Capacity: 64, BucketSize: 2, MaxIterations: 20, Expansion: 1},
		{Capacity: 150_000, BucketSize: 2, MaxIterations: 20, Expansion: 2},
		{Capacity: 300_000, BucketSize: 4, MaxIterations: 20, Expansion: 1},
	} {
		one, many := newCuckoo(t, p), newCuckoo(t, p)
		hs := make([]uint64, p.Capacity*5/2)
		for i := range hs {
			hs[i] = rng.Uint64()
		}
		codes := make([]int8, 100)
		for at := 0; at < len(hs); {
			batch := hs[at:min(at+1+rng.IntN(100), len(hs))]
			if n, err := many.InsertDigests(codes, batch, 1<<40); n != len(batch) || err != nil {
				t.Fatal(n, err)
			}
			for _, h := range batch {
				if err := one.InsertDigest(h); err != nil {
					t.Fatal(err)
				}
			}
			at += len(batch)
		}
		gone := make([]bool, 100)
		for at := 0; at < len(hs)/2; {
			batch := hs[at:min(at+1+rng.IntN(100), len(hs))]
			if rng.IntN(4) == 0 {
				batch[0]++ // most likely not there
			}
			many.DeleteDigests(gone, batch)
			for i, h := range batch {
				if want := one.DeleteDigest(h); gone[i] != want {
					t.Fatalf("capacity %d: delete %d is %t, alone %t", p.Capacity, at+i, gone[i], want)
				}
			}
			at += len(batch)
		}
		if !bytes.Equal(binaryForm(t, one), binaryForm(t, many)) {
			t.Fatalf("capacity %d: a filter changed by batches is another one", p.Capacity)
		}
		found := make([]bool, len(hs))
		many.ContainsDigests(found, hs)
		for i, h := range hs {
			if want := one.ContainsDigest(h); found[i] != want {
				t.Fatalf("capacity %d: ContainsDigests is %t, alone %t", p.Capacity, found[i], want)
			}
		}
	}
}

// TestBatchesDoNotAllocate holds the batches to memory of the caller's alone.
func TestBatchesDoNotAllocate(t *testing.T) {
	b, ds := newBloom(t, redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 300_000, Expansion: 2}), make([]redisbloom.Digest, 100)
	c, hs := newCuckoo(t, redisbloom.CuckooParams{Capacity: 300_000, BucketSize: 2, MaxIterations: 20}), make([]uint64, 100)
	rng := rand.New(rand.NewPCG(9, 10))
	dst, codes := make([]bool, 100), make([]int8, 100)
	n := testing.AllocsPerRun(100, func() {
		for i := range ds {
			ds[i], hs[i] = redisbloom.Digest{A: rng.Uint64(), B: rng.Uint64()}, rng.Uint64()
		}
		if _, err := b.AddDigests(dst, ds, 0); err != nil {
			t.Fatal(err)
		}
		b.ContainsDigests(dst, ds)
		if _, err := c.InsertDigests(codes, hs, 0); err != nil {
			t.Fatal(err)
		}
		c.ContainsDigests(dst, hs)
		c.DeleteDigests(dst, hs)
	})
	if n != 0 {
		t.Errorf("batches allocate %v times", n)
	}
}

func binaryForm(t *testing.T, f interface{ MarshalBinary() ([]byte, error) }) []byte {
	t.Helper()
	data, err := f.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return data
}
