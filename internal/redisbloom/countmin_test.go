package redisbloom_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/redisbloom"
)

// hashes returns the hashes of an item as numbers.
func hashes(item string, depth uint64) (hs []uint32) {
	for b := redisbloom.AppendCountMinHashes(nil, []byte(item), depth); len(b) > 0; b = b[4:] {
		hs = append(hs, binary.LittleEndian.Uint32(b))
	}
	return hs
}

func TestHashes(t *testing.T) {
	for item, want := range map[string][]uint32{
		"hello": {0xe56129cb, 0xa631918e}, "foo": {0x8fea6375, 0x0bcc2e5a}, "": {0, 0x5bd15e36},
	} {
		if got := hashes(item, 2); !slices.Equal(got, want) {
			t.Errorf("hashes of %q = %x, want %x", item, got, want)
		}
	}
	// The hash of a row does not depend on how many there are.
	long := hashes("hello, world", 11)
	for depth := range uint64(11) {
		if got := hashes("hello, world", depth); !slices.Equal(got, long[:depth]) {
			t.Errorf("hashes of %d rows = %x, want %x", depth, got, long[:depth])
		}
	}
}

func TestColumns(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	widths := []uint64{1, 2, 3, 7, 8, 1000, 1<<31 - 1, 1 << 31, 1<<31 + 1, 1<<32 - 1, 1 << 32, 1<<32 + 1, 1 << 40, math.MaxInt64}
	for range 200 {
		widths = append(widths, 1+rng.Uint64N(1<<(1+rng.IntN(40))))
	}
	for _, width := range widths {
		hs := []uint32{0, 1, uint32(width), uint32(width - 1), uint32(width + 1), math.MaxUint32}
		for range 50 {
			hs = append(hs, rng.Uint32())
		}
		for _, h := range hs {
			if got, want := redisbloom.Column(h, width), uint64(h)%width; got != want {
				t.Fatalf("%d mod %d = %d, want %d", h, width, got, want)
			}
		}
	}
}

func TestCountMinParameters(t *testing.T) {
	for _, c := range []struct {
		width, depth uint64
		want         error
	}{
		{0, 1, bloomery.ErrParameter}, {1, 0, bloomery.ErrParameter},
		{1 << 40, 1, bloomery.ErrTooLarge}, {1 << 32, 1 << 32, bloomery.ErrTooLarge},
		{math.MaxUint64, math.MaxUint64, bloomery.ErrTooLarge},
	} {
		p := redisbloom.CountMinParams{Width: c.width, Depth: c.depth}
		if _, err := redisbloom.NewCountMin(p); !errors.Is(err, c.want) {
			t.Errorf("NewCountMin(%d, %d): %v, want %v", c.width, c.depth, err, c.want)
		}
		if _, err := p.Bytes(); !errors.Is(err, c.want) {
			t.Errorf("Bytes of %d, %d: %v, want %v", c.width, c.depth, err, c.want)
		}
	}
	c := newCountMin(t, 10, 2)
	if n, err := (redisbloom.CountMinParams{Width: 10, Depth: 2}).Bytes(); n != c.Bytes() || n != 72+80 || err != nil {
		t.Errorf("Bytes() = %d, %v before and %d after", n, err, c.Bytes())
	}
	if c.Size() != 112 {
		t.Errorf("Size() = %d, want 112", c.Size())
	}
}

func TestCountMinFor(t *testing.T) {
	p, err := redisbloom.CountMinFor(0.002, 0.01)
	if p.Width != 1000 || p.Depth != 7 || err != nil {
		t.Errorf("0.2%%, 1%%: %d by %d, %v", p.Width, p.Depth, err)
	}
	for _, c := range [][2]float64{
		{0, 0.1}, {1, 0.1}, {0.1, 0}, {0.1, 1}, {-1, 0.1}, {math.NaN(), 0.1}, {0.1, math.NaN()}, {math.Inf(1), 0.1},
		{0.1, 0.9999999999}, {0.1, 1e-46}, {1e-300, 0.1}, {math.SmallestNonzeroFloat64, 0.1},
	} {
		if p, err := redisbloom.CountMinFor(c[0], c[1]); !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("CountMinFor(%v, %v) = %d by %d, %v", c[0], c[1], p.Width, p.Depth, err)
		}
	}
}

// TestCountMinBound counts a skewed stream: no count is too low, and the share
// of counts that are too high by more than the bound is below its probability.
// The tolerance is 4 standard deviations of 5,000 items.
func TestCountMinBound(t *testing.T) {
	const items = 5000
	p, err := redisbloom.CountMinFor(0.01, 0.1)
	if err != nil {
		t.Fatal(err)
	}
	c := newCountMin(t, p.Width, p.Depth)
	truth := make([]uint32, items)
	zipf := rand.NewZipf(rand.New(rand.NewPCG(3, 4)), 1.1, 1, items-1)
	for range 200000 {
		i := zipf.Uint64()
		truth[i]++
		c.Incr(item(int(i)), 1)
	}
	s := c.Stats()
	if s.Rate != 0.01 || s.Probability != 0.0625 || s.Bytes != c.Bytes() {
		t.Errorf("Stats() = %+v", s)
	}
	over := 0
	for i, n := range truth {
		got := c.Count(item(i))
		if got < n {
			t.Fatalf("item%d: %d, was added %d times", i, got, n)
		}
		if float64(got-n) > s.Rate*float64(c.Total()) {
			over++
		}
	}
	mean := s.Probability * items
	if float64(over) > mean+4*math.Sqrt(mean) {
		t.Errorf("%d of %d counts beyond the bound, allowed %.0f", over, items, mean)
	}
}

// TestCountMinHashes does the same by items and by hashes.
func TestCountMinHashes(t *testing.T) {
	for depth := uint64(1); depth < 10; depth++ {
		a, b := newCountMin(t, 13, depth), newCountMin(t, 13, depth)
		for i := range 200 {
			hs := redisbloom.AppendCountMinHashes(nil, item(i), depth)
			if x, y := a.Incr(item(i), uint64(i)), b.IncrHashes(hs, uint64(i)); x != y {
				t.Fatalf("item%d: %d and %d", i, x, y)
			}
		}
		equal(t, a.MarshalBinary, b.MarshalBinary)
	}
}

// TestCountMinMerge compares merges of random sketches with big integers.
func TestCountMinMerge(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	merged, refused := 0, 0
	for range 2000 {
		sketches := make([]*redisbloom.CountMin, 1+rng.IntN(3))
		var weights []int64
		for i := range sketches {
			sketches[i] = newCountMin(t, 3, 2)
			for range rng.IntN(4) {
				sketches[i].Incr(item(rng.IntN(5)), rng.Uint64()>>rng.IntN(64))
			}
			w := int64(rng.Uint64()) >> rng.IntN(64)
			if rng.IntN(2) == 0 {
				w = int64(rng.IntN(4)) - 1
			}
			weights = append(weights, w)
		}
		if rng.IntN(4) == 0 {
			weights = nil
		}
		dst := newCountMin(t, 3, 2)
		if rng.IntN(2) == 0 {
			dst = sketches[0]
		}
		before, _ := dst.MarshalBinary()
		want, ok := bigMerge(sketches, weights)
		err := dst.Merge(sketches, weights)
		after, _ := dst.MarshalBinary()
		if ok != (err == nil) || err != nil && !errors.Is(err, redisbloom.ErrOverflow) {
			t.Fatalf("Merge: %v, want %v", err, ok)
		}
		if err != nil {
			refused++
			if !bytes.Equal(before, after) {
				t.Fatal("a refused Merge changed the sketch")
			}
			continue
		}
		merged++
		if got := append(u32s(dst.Dump().Cells), dst.Total()); !slices.Equal(got, want) {
			t.Fatalf("Merge gives %d, want %d", got, want)
		}
	}
	if merged < 300 || refused < 300 {
		t.Errorf("%d merged, %d refused: one of them is hardly tested", merged, refused)
	}
	// A count is unsigned: its product with -1 is beyond the signed numbers.
	huge, err := redisbloom.CountMinDump{Width: 1, Depth: 1, Count: 1<<63 + 5, Cells: make([]byte, 4)}.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := newCountMin(t, 1, 1).Merge([]*redisbloom.CountMin{huge}, []int64{-1}); !errors.Is(err, redisbloom.ErrOverflow) {
		t.Errorf("Merge of a count of 2^63+5 with the weight -1: %v", err)
	}
	err = newCountMin(t, 3, 2).Merge([]*redisbloom.CountMin{newCountMin(t, 2, 3)}, nil)
	if !errors.Is(err, bloomery.ErrIncompatible) {
		t.Errorf("Merge of another shape: %v", err)
	}
	if err := newCountMin(t, 3, 2).Merge(nil, []int64{1}); !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("Merge with a weight too many: %v", err)
	}
}

// u32s returns cells as numbers.
func u32s(cells []byte) (ns []uint64) {
	for ; len(cells) > 0; cells = cells[4:] {
		ns = append(ns, uint64(cells[0])|uint64(cells[1])<<8|uint64(cells[2])<<16|uint64(cells[3])<<24)
	}
	return ns
}

// bigMerge returns cells and count of a merge, and whether it is allowed.
func bigMerge(sources []*redisbloom.CountMin, weights []int64) (ns []uint64, ok bool) {
	low, high := big.NewInt(math.MinInt64), big.NewInt(math.MaxInt64)
	cells := len(sources[0].Dump().Cells) / 4
	for i := range cells + 1 {
		sum := new(big.Int)
		for j, s := range sources {
			v := append(u32s(s.Dump().Cells), s.Total())[i]
			term := new(big.Int).SetUint64(v)
			if weights != nil {
				term.Mul(term, big.NewInt(weights[j]))
			}
			sum.Add(sum, term)
			if term.Cmp(low) < 0 || term.Cmp(high) > 0 || sum.Cmp(low) < 0 || sum.Cmp(high) > 0 {
				return nil, false
			}
		}
		if sum.Sign() < 0 || i < cells && sum.Cmp(big.NewInt(math.MaxUint32)) > 0 {
			return nil, false
		}
		ns = append(ns, sum.Uint64())
	}
	return ns, true
}

func TestCountMinSaturates(t *testing.T) {
	c := newCountMin(t, 100, 3)
	if got := c.Incr([]byte("a"), math.MaxUint64); got != math.MaxUint32 {
		t.Errorf("Incr by 2^64-1 = %d", got)
	}
	if got := c.Incr([]byte("a"), 1); got != math.MaxUint32 || c.Total() != 0 {
		t.Errorf("Incr by 1 = %d, count %d", got, c.Total())
	}
	if got := c.Incr([]byte("b"), math.MaxUint32-1); got != math.MaxUint32-1 {
		t.Errorf("Incr by 2^32-2 = %d", got)
	}
}

func TestCountMinAllocs(t *testing.T) {
	c := newCountMin(t, 1000, 7)
	hs := make([]byte, 0, 28)
	key := []byte("0123456789abcdef")
	if got := testing.AllocsPerRun(100, func() {
		key[0]++
		c.Incr(key, 1)
		c.Count(key)
		hs = redisbloom.AppendCountMinHashes(hs[:0], key, 7)
		c.IncrHashes(hs, 2)
		_ = c.Merge([]*redisbloom.CountMin{c}, nil)
	}); got != 0 {
		t.Errorf("%v allocations", got)
	}
}

func BenchmarkCountMin(b *testing.B) {
	for _, width := range []uint64{1000, 1 << 20} {
		c := newCountMin(b, width, 7)
		keys := make([][]byte, 1<<14)
		for i := range keys {
			keys[i] = fmt.Appendf(nil, "key:%012d", i)
		}
		b.Run(fmt.Sprintf("width=%d/op=incr", width), func(b *testing.B) {
			i := 0
			for b.Loop() {
				c.Incr(keys[i&(1<<14-1)], 1)
				i++
			}
			b.ReportAllocs()
		})
		b.Run(fmt.Sprintf("width=%d/op=hash", width), func(b *testing.B) {
			i, hs := 0, make([]byte, 0, 64)
			for b.Loop() {
				hs = redisbloom.AppendCountMinHashes(hs[:0], keys[i&(1<<14-1)], 7)
				i++
			}
			b.ReportAllocs()
		})
		b.Run(fmt.Sprintf("width=%d/op=incr hashes", width), func(b *testing.B) {
			i, hs := 0, []byte(nil)
			for _, key := range keys {
				hs = redisbloom.AppendCountMinHashes(hs, key, 7)
			}
			for b.Loop() {
				at := i & (1<<14 - 1) * c.HashBytes()
				c.IncrHashes(hs[at:at+c.HashBytes()], 1)
				i++
			}
			b.ReportAllocs()
		})
		b.Run(fmt.Sprintf("width=%d/op=query", width), func(b *testing.B) {
			i := 0
			for b.Loop() {
				c.Count(keys[i&(1<<14-1)])
				i++
			}
			b.ReportAllocs()
		})
	}
}
