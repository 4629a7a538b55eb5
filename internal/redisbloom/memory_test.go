package redisbloom_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"iter"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/internal/redisbloom"
)

// arena is an Arena that knows what is out and refuses when it has none left.
type arena struct {
	t    *testing.T
	left int // arrays that may still be allocated
	out  map[*byte]int
}

var errArena = errors.New("arena is empty")

func newArena(t *testing.T, arrays int) (*arena, *memory.Arena) {
	a := &arena{t: t, left: arrays, out: map[*byte]int{}}
	return a, &memory.Arena{Alloc: a.alloc, Free: a.free}
}

// alloc returns more than was asked for: users must not rely on the length.
func (a *arena) alloc(n int) ([]byte, error) {
	if a.left == 0 {
		return nil, errArena
	}
	a.left--
	b := make([]byte, n+3)
	a.out[&b[0]] = n
	return b, nil
}

func (a *arena) free(b []byte) {
	a.t.Helper()
	n, ok := a.out[&b[0]]
	if !ok || n != len(b) {
		a.t.Errorf("Free of %d bytes, of which %d are out", len(b), n)
	}
	delete(a.out, &b[0])
	for i := range b { // whoever still reads it reads nonsense
		b[i] = 0xaa
	}
}

// owns checks that exactly the arrays of a filter are out.
func (a *arena) owns(arrays iter.Seq[[]byte]) {
	a.t.Helper()
	n := 0
	for b := range arrays {
		if a.out[&b[0]] != len(b) {
			a.t.Errorf("array %d of %d bytes is not of the arena", n, len(b))
		}
		n++
	}
	if n != len(a.out) {
		a.t.Errorf("%d arrays of the filter, %d of the arena", n, len(a.out))
	}
}

func (a *arena) empty() {
	a.t.Helper()
	if len(a.out) != 0 {
		a.t.Errorf("%d arrays were not freed", len(a.out))
	}
}

// TestMemoryPlacesEverything makes filters in every way there is: all arrays are
// of the Arena given, those of later layers too, and Release frees them all.
func TestMemoryPlacesEverything(t *testing.T) {
	plain := newBloom(t, redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 10, Expansion: 2})
	a, m := newArena(t, math.MaxInt)
	b := newBloom(t, redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 10, Expansion: 2, Memory: m})
	for i := range 100 {
		_, _ = b.Add(item(i))
		_, _ = plain.Add(item(i))
	}
	if b.Layers() < 4 {
		t.Fatalf("%d layers", b.Layers())
	}
	equal(t, b.MarshalBinary, plain.MarshalBinary)
	a.owns(b.Arrays())
	data, _ := b.MarshalBinary()
	if err := b.UnmarshalBinary(data); err != nil { // the old arrays are freed
		t.Fatal(err)
	}
	a.owns(b.Arrays())
	b.Release()
	a.empty()
	decoded, err := redisbloom.DecodeBloom(data, m)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, decoded.MarshalBinary, plain.MarshalBinary)
	a.owns(decoded.Arrays())
	h, _ := redisbloom.ParseBloomHeader(decoded.AppendHeader(nil))
	decoded.Release()
	empty, err := h.New(m)
	if err != nil {
		t.Fatal(err)
	}
	a.owns(empty.Arrays())
	empty.Release()
	a.empty()

	bare := newCuckoo(t, redisbloom.CuckooParams{Capacity: 8, BucketSize: 2, MaxIterations: 20, Expansion: 2})
	c := newCuckoo(t, redisbloom.CuckooParams{Capacity: 8, BucketSize: 2, MaxIterations: 20, Expansion: 2, Memory: m})
	for i := range 100 {
		_ = c.Insert(item(i))
		_ = bare.Insert(item(i))
	}
	equal(t, c.MarshalBinary, bare.MarshalBinary)
	a.owns(c.Arrays())
	for i := range 95 { // it shrinks on the way
		c.Delete(item(i))
	}
	c.Compact()
	if c.Filters() > 3 {
		t.Fatalf("%d sub-filters", c.Filters())
	}
	a.owns(c.Arrays())
	data, _ = c.MarshalBinary()
	if err := c.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	a.owns(c.Arrays())
	f, _ := c.Freeze()
	first, _ := f.Next(nil)
	l, err := redisbloom.NewCuckooLoader(first, f.Size(), m)
	if err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	c.Release()
	l.Release()
	a.empty()
}

// TestMemoryRefused lets Alloc refuse the first, second, … array: the operation
// fails with Alloc's error, keeps nothing and changes nothing.
func TestMemoryRefused(t *testing.T) {
	b := newBloom(t, redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 10, Expansion: 2})
	c := newCuckoo(t, redisbloom.CuckooParams{Capacity: 8, BucketSize: 2, MaxIterations: 20, Expansion: 2})
	for i := range 200 {
		_, _ = b.Add(item(i))
		_ = c.Insert(item(i))
	}
	bloomData, _ := b.MarshalBinary()
	cuckooData, _ := c.MarshalBinary()
	for arrays := range min(b.Layers(), c.Filters()) {
		a, m := newArena(t, arrays)
		check := func(what string, err error) {
			t.Helper()
			if !errors.Is(err, errArena) {
				t.Errorf("%s with %d arrays: %v", what, arrays, err)
			}
			a.empty()
			a.left = arrays
		}
		_, err := redisbloom.DecodeBloom(bloomData, m)
		check("DecodeBloom", err)
		_, err = redisbloom.DecodeCuckoo(cuckooData, m)
		check("DecodeCuckoo", err)
		f, _ := b.Freeze()
		first, _ := f.Next(nil)
		_, err = redisbloom.NewBloomLoader(first, f.Size(), m)
		check("NewBloomLoader", err)
		_ = f.Close()
		f, _ = c.Freeze()
		first, _ = f.Next(nil)
		_, err = redisbloom.NewCuckooLoader(first, f.Size(), m)
		check("NewCuckooLoader", err)
		_ = f.Close()
		if arrays > 0 {
			continue
		}
		_, err = redisbloom.NewBloom(redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 10, Expansion: 2, Memory: m})
		check("NewBloom", err)
		_, err = redisbloom.NewCuckoo(redisbloom.CuckooParams{Capacity: 8, BucketSize: 2, MaxIterations: 20, Memory: m})
		check("NewCuckoo", err)
	}
}

// TestMemoryRefusesGrowth grows filters whose Arena has one array: the item
// that would need a second one changes nothing, and a batch says how far it
// came.
func TestMemoryRefusesGrowth(t *testing.T) {
	_, m := newArena(t, 1)
	b := newBloom(t, redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 10, Expansion: 2, Memory: m})
	ds, dst := make([]redisbloom.Digest, 40), make([]bool, 40)
	for i := range ds {
		ds[i] = b.Digest(item(i))
	}
	n, err := b.AddDigests(dst, ds, math.MaxUint64)
	if n < 10 || n == 40 || !errors.Is(err, errArena) || errors.Is(err, memory.ErrRoom) || b.Layers() != 1 {
		t.Errorf("AddDigests = %d, %v", n, err)
	}
	before, _ := b.MarshalBinary()
	if _, err := b.AddDigest(ds[n]); !errors.Is(err, errArena) {
		t.Errorf("AddDigest: %v", err)
	}
	if after, _ := b.MarshalBinary(); !bytes.Equal(before, after) {
		t.Error("a refused Add changed the filter")
	}
	_, m = newArena(t, 1)
	c := newCuckoo(t, redisbloom.CuckooParams{Capacity: 8, BucketSize: 2, MaxIterations: 20, Expansion: 1, Memory: m})
	hs, res := make([]uint64, 40), make([]int8, 40)
	for i := range hs {
		hs[i] = redisbloom.CuckooDigest(item(i))
	}
	n, err = c.InsertDigests(res, hs, math.MaxUint64)
	if n == 0 || n == 40 || !errors.Is(err, errArena) || c.Items() != uint64(n) {
		t.Errorf("InsertDigests = %d, %v, %d items", n, err, c.Items())
	}
	before, _ = c.MarshalBinary()
	if err := c.InsertDigest(hs[n]); !errors.Is(err, errArena) {
		t.Errorf("InsertDigest: %v", err)
	}
	if after, _ := c.MarshalBinary(); !bytes.Equal(before, after) {
		t.Error("a refused Insert changed the filter")
	}
}

// TestMemoryOfSnapshot releases and shrinks filters while a snapshot is open: it
// keeps its arrays to the end, and frees them then, once.
func TestMemoryOfSnapshot(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for round := range 20 {
		a, m := newArena(t, math.MaxInt)
		c := newCuckoo(t, redisbloom.CuckooParams{Capacity: 8, BucketSize: 2, MaxIterations: 5, Expansion: 2, Memory: m})
		b := newBloom(t, redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 10, Expansion: 2, Memory: m})
		for i := range 50 + rng.IntN(50) {
			_ = c.Insert(item(i))
			_, _ = b.Add(item(i))
		}
		want, _ := c.MarshalBinary()
		f, err := c.Freeze()
		if err != nil {
			t.Fatal(err)
		}
		for i := range 100 {
			c.Delete(item(i))
			if rng.IntN(30) == 0 {
				for range 20 {
					_ = c.Insert(item(1000 + rng.IntN(100)))
				}
			}
		}
		if round%2 == 0 {
			c.Release()
		}
		if got, err := io.ReadAll(f); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("round %d: snapshot differs, %v", round, err)
		}
		_ = f.Close()
		_ = f.Close()
		c.Release()

		want, _ = b.MarshalBinary()
		if f, err = b.Freeze(); err != nil {
			t.Fatal(err)
		}
		for i := range 100 {
			_, _ = b.Add(item(i))
		}
		if round%2 == 0 { // another filter in its place
			other := newBloom(t, redisbloom.BloomParams{ErrorRate: 0.1, Capacity: 4, Expansion: 1})
			data, _ := other.MarshalBinary()
			if err := b.UnmarshalBinary(data); err != nil {
				t.Fatal(err)
			}
		}
		b.Release()
		if got, err := io.ReadAll(f); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("round %d: snapshot differs, %v", round, err)
		}
		if len(a.out) == 0 {
			t.Error("arrays of an open snapshot were freed")
		}
		_ = f.Close()
		a.empty()
	}
}

// TestSingleInsertsAreBounded inserts one item over and over into filters that
// grow without measure. Single inserts have no room as an argument: memory is
// their bound.
func TestSingleInsertsAreBounded(t *testing.T) {
	const third uint64 = 1 << 37 // bytes of the array that must be refused
	if math.MaxInt == math.MaxInt32 || memory.Limit() >= third {
		t.Skipf("needs a machine of 64 bits with less than %d bytes of memory", third)
	}
	c := newCuckoo(t, redisbloom.CuckooParams{Capacity: 2, BucketSize: 1, MaxIterations: 1, Expansion: 1 << 12})
	var err error
	for i := 0; err == nil && i < 17; i++ {
		err = c.Insert([]byte("one"))
	}
	if !errors.Is(err, bloomery.ErrTooLarge) || c.Bytes() > memory.Limit() {
		t.Errorf("Insert: %v, the filter takes %d bytes", err, c.Bytes())
	}
	if !c.Contains([]byte("one")) || c.GrowBytes() < third {
		t.Errorf("Contains = %v, the next array takes %d bytes", c.Contains([]byte("one")), c.GrowBytes())
	}
	// Layers of 1 and 32,768 items; the third would take 193 GB.
	b := newBloom(t, redisbloom.BloomParams{ErrorRate: 1e-300, Capacity: 1, Expansion: redisbloom.MaxExpansion})
	err = nil
	i := 0
	for ; err == nil && i < 40000; i++ {
		_, err = b.Add(item(i))
	}
	if !errors.Is(err, bloomery.ErrTooLarge) || i != 32770 || b.Layers() != 2 || !b.Contains(item(0)) {
		t.Errorf("Add of item %d: %v, the filter has %d layers and takes %d bytes", i, err, b.Layers(), b.Bytes())
	}
}

// TestZeroFilters: a filter that was never made contains nothing, refuses to be
// written and panics when it is changed.
func TestZeroFilters(t *testing.T) {
	var b redisbloom.Bloom
	var c redisbloom.Cuckoo
	dst := []bool{true}
	if b.ContainsDigests(dst, make([]redisbloom.Digest, 1)); b.Contains(nil) || dst[0] || c.Contains(nil) || c.Count(nil) != 0 {
		t.Error("a zero filter contains something")
	}
	for _, f := range []interface {
		MarshalBinary() ([]byte, error)
		Freeze() (*redisbloom.Frozen, error)
		Stats() bloomery.Stats
	}{&b, &c} {
		if _, err := f.MarshalBinary(); !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("%T: MarshalBinary: %v", f, err)
		}
		if _, err := f.Freeze(); !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("%T: Freeze: %v", f, err)
		}
		if s := f.Stats(); s.Items != 0 || s.Saturation != 0 || s.Predicted != 0 {
			t.Errorf("%T: Stats: %+v", f, s)
		}
	}
	if next, data := b.ScanDump(0); next != 0 || data != nil {
		t.Errorf("ScanDump(0) = %d, %x", next, data)
	}
	b.Release()
	c.Release()
	for name, change := range map[string]func(){
		"Add":     func() { _, _ = b.Add(nil) },
		"Insert":  func() { _ = c.Insert(nil) },
		"Delete":  func() { c.Delete(nil) },
		"Compact": c.Compact,
	} {
		func() {
			defer func() {
				if s, _ := recover().(string); !strings.Contains(s, "redisbloom: ") || !strings.Contains(s, "New") {
					t.Errorf("%s of a zero filter: %q", name, s)
				}
			}()
			change()
		}()
	}
}

// TestPiecesOfManyPages snapshots a sketch of more pages than a word has bits,
// of which many are put aside, and one whose last page is one byte.
func TestPiecesOfManyPages(t *testing.T) {
	c := newCountMin(t, 200_000, 1)
	for i := range 5000 {
		c.Incr(item(i), 1)
	}
	want, _ := c.MarshalBinary()
	f, err := c.Freeze()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	got := pieces(t, f, redisbloom.NewCountMinLoader, func() {
		for range 50 {
			n++
			c.Incr(item(n), 1)
		}
	})
	if data, _ := got.MarshalBinary(); !bytes.Equal(data, want) {
		t.Error("pieces give another sketch")
	}

	k := newTopK(t, redisbloom.TopKParams{K: 1, Width: 4, Depth: 3, Decay: 0.9})
	k.Add(bytes.Repeat([]byte("x"), 4*4096+1-16)) // a slot has 16 bytes beside its item
	want, _ = k.MarshalBinary()
	if f, err = k.Freeze(); err != nil {
		t.Fatal(err)
	}
	loaded := pieces(t, f, redisbloom.NewTopKLoader, func() {})
	if data, _ := loaded.MarshalBinary(); !bytes.Equal(data, want) {
		t.Error("pieces give another top-k")
	}
}

// TestDecodeWithoutMemory decodes what there is no memory for.
func TestDecodeWithoutMemory(t *testing.T) {
	all, _ := sampleSketches(t, nil)
	_, m := newArena(t, 0)
	for i, decode := range []func(data []byte) error{
		func(data []byte) error { _, err := redisbloom.DecodeCountMin(data, m); return err },
		func(data []byte) error { _, err := redisbloom.DecodeTopK(data, m); return err },
		func(data []byte) error { _, err := redisbloom.DecodeTDigest(data, m); return err },
	} {
		data, err := all[i].MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if err := decode(data); !errors.Is(err, errArena) {
			t.Errorf("%T: %v, want the error of Alloc", all[i], err)
		}
	}
}

// TestSmallestCuckooIsFreed loads a filter of one slot, which none is made with.
func TestSmallestCuckooIsFreed(t *testing.T) {
	a, m := newArena(t, 1)
	header := newCuckoo(t, redisbloom.CuckooParams{Capacity: 2, BucketSize: 1, MaxIterations: 1}).AppendHeader(nil)
	binary.LittleEndian.PutUint64(header[8:], 1) // buckets
	h, err := redisbloom.ParseCuckooHeader(header)
	if err != nil {
		t.Fatal(err)
	}
	c, err := h.New(m)
	if err != nil || c.Buckets() != 1 {
		t.Fatalf("New: %v", err)
	}
	if err := c.Insert([]byte("a")); err != nil || !c.Contains([]byte("a")) {
		t.Errorf("Insert into the one slot: %v", err)
	}
	c.Release()
	a.empty()
}
