package kernel

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// splitOf returns the first n split blocks in the memory of blocks.
func splitOf(blocks []Block, n int) []SplitBlock { return SplitBlocks(Words(blocks))[:n] }

// referenceSplit sets the bits of h in the bytes of n blocks, by the rule of
// the Parquet format and nothing else, and reports whether one was clear.
func referenceSplit(data []byte, h uint64) bool {
	salts := []uint32{
		0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d,
		0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31,
	}
	block := data[((h>>32)*uint64(len(data)/32))>>32*32:]
	fresh := false
	for i, salt := range salts {
		word := binary.LittleEndian.Uint32(block[4*i:])
		bit := uint32(1) << (uint32(h) * salt >> 27)
		fresh = fresh || word&bit == 0
		binary.LittleEndian.PutUint32(block[4*i:], word|bit)
	}
	return fresh
}

// TestSplitReference holds the Go code to the words of the format.
func TestSplitReference(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 1))
	for _, n := range []int{1, 2, 3, 7, 64, 1009} {
		got, want := make([]SplitBlock, n), make([]byte, 32*n)
		for range min(40*n, 4000) {
			h := r.Uint64()
			had := goHasSplit(got, h)
			fresh := goSetSplit(got, h)
			if w := referenceSplit(want, h); fresh != w || had == fresh {
				t.Fatalf("n=%d: goHasSplit(%#x) = %v, goSetSplit = %v, want %v", n, h, had, fresh, w)
			}
		}
		for i, w := range SplitWords(got) {
			if want := binary.LittleEndian.Uint64(want[8*i:]); w != want {
				t.Fatalf("n=%d: word %d = %#x, want %#x", n, i, w, want)
			}
		}
	}
}

// agreeSplit is agree for the split layout. An odd number of blocks leaves
// half a block behind the last one, which must stay as it was.
func agreeSplit(t *testing.T, r *rand.Rand, n, shift int, hs []uint64) {
	t.Helper()
	e := expect(r, fmt.Sprintf("split, %d blocks", n), 8, (n+1)/2, shift, hs,
		func(blocks []Block, h uint64) bool { return goHasSplit(splitOf(blocks, n), h) },
		func(blocks []Block, h uint64) bool { return goSetSplit(splitOf(blocks, n), h) })
	for _, tier := range tiers() {
		t.Run(tier, func(t *testing.T) {
			use(t, tier)
			e.check(t, "HasAllSplit", e.has, e.before, func(dst []bool, blocks []Block) { HasAllSplit(dst, splitOf(blocks, n), hs) })
			e.check(t, "SetAllSplit", e.fresh, e.after, func(dst []bool, blocks []Block) { SetAllSplit(dst, splitOf(blocks, n), hs) })
			e.check(t, "SetAllSplit without dst", nil, e.after, func(_ []bool, blocks []Block) { SetAllSplit(nil, splitOf(blocks, n), hs) })
			e.check(t, "HasSplit", e.has, e.before, func(dst []bool, blocks []Block) {
				for i, h := range hs {
					dst[i] = HasSplit(splitOf(blocks, n), h)
				}
			})
			e.check(t, "SetSplit", e.fresh, e.after, func(dst []bool, blocks []Block) {
				for i, h := range hs {
					dst[i] = SetSplit(splitOf(blocks, n), h)
				}
			})
		})
	}
}

func TestSplitAgree(t *testing.T) {
	counts := []int{1, 2, 3, 5, 7, 8, 9, 31, 32, 33, 97, 255, 256, 257, 1021}
	r := rand.New(rand.NewPCG(22, 1))
	for length := range 71 {
		for _, n := range []int{counts[length%len(counts)], 97} {
			agreeSplit(t, r, n, length%2, hashes(r, length))
		}
	}
	for _, n := range counts {
		for shift := range 8 {
			agreeSplit(t, r, n, shift, hashes(r, 100))
		}
	}
	for _, length := range []int{chunk - 1, chunk, chunk + 1, 2*chunk + 23, 2*chunk + 24, 2*chunk + 25} {
		agreeSplit(t, r, 4093, 1, hashes(r, length))
	}
}

// TestSplitLastBlock asks for the last block of arrays of hostile lengths.
func TestSplitLastBlock(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 3))
	for _, n := range []int{1, 2, 3, 5, 1 << 12, 1<<12 - 1, 1<<12 + 1, 65537} {
		low := ^uint64(0) - ^uint64(0)/uint64(n) + 2
		agreeSplit(t, r, n, 1, []uint64{low, low - 1<<32, low - 2, low - 3, low + 1<<32, ^uint64(0), 0, 1<<32 - 1})
	}
}

// TestSplitEqualKeys holds SetAllSplit to the order of its keys.
func TestSplitEqualKeys(t *testing.T) {
	hs := make([]uint64, 100)
	for i := range hs {
		hs[i] = 0x0123456789abcdef
	}
	for _, tier := range tiers() {
		t.Run(tier, func(t *testing.T) {
			use(t, tier)
			dst := make([]bool, len(hs))
			SetAllSplit(dst, make([]SplitBlock, 10), hs)
			if !dst[0] || slices.Contains(dst[1:], true) {
				t.Errorf("SetAllSplit of equal keys = %v, want true, then false", dst)
			}
		})
	}
}

func FuzzSplitAgree(f *testing.F) {
	f.Add(uint16(0), uint8(0), []byte("01234567"))
	f.Add(uint16(999), uint8(3), make([]byte, 8*25))
	f.Add(uint16(64), uint8(7), []byte{255, 255, 255, 255, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, n uint16, shift uint8, data []byte) {
		hs := make([]uint64, 0, len(data)/8)
		for ; len(data) >= 8; data = data[8:] {
			hs = append(hs, binary.LittleEndian.Uint64(data))
		}
		agreeSplit(t, rand.New(rand.NewPCG(uint64(n), 24)), int(n)+1, int(shift)%8, hs)
	})
}

func TestSplitAllocs(t *testing.T) {
	hs := hashes(rand.New(rand.NewPCG(25, 4)), 100)
	for _, tier := range tiers() {
		t.Run(tier, func(t *testing.T) {
			use(t, tier)
			for name, f := range map[string]func(){
				"HasSplit":                func() { var b [4]SplitBlock; HasSplit(b[:], 1) },
				"SetSplit":                func() { var b [4]SplitBlock; SetSplit(b[:], 1) },
				"HasAllSplit":             func() { var b [4]SplitBlock; var d [100]bool; HasAllSplit(d[:], b[:], hs) },
				"SetAllSplit":             func() { var b [4]SplitBlock; var d [100]bool; SetAllSplit(d[:], b[:], hs) },
				"SetAllSplit without dst": func() { var b [4]SplitBlock; SetAllSplit(nil, b[:], hs) },
			} {
				if n := testing.AllocsPerRun(20, f); n != 0 {
					t.Errorf("%s: %v allocations, want 0", name, n)
				}
			}
		})
	}
}

func TestSplitPanics(t *testing.T) {
	const noBlock = "index out of range [0] with length 0"
	hs, dst, full := make([]uint64, 30), make([]bool, 30), make([]SplitBlock, 3)
	for _, tier := range tiers() {
		use(t, tier)
		for name, blocks := range map[string][]SplitBlock{"no blocks": nil, "no blocks, but capacity": full[:0]} {
			name = tier + " " + name
			panics(t, name+": HasSplit", noBlock, func() { HasSplit(blocks, 1) })
			panics(t, name+": SetSplit", noBlock, func() { SetSplit(blocks, 1) })
			panics(t, name+": HasAllSplit", noBlock, func() { HasAllSplit(dst, blocks, hs) })
			panics(t, name+": SetAllSplit", noBlock, func() { SetAllSplit(dst, blocks, hs) })
			panics(t, name+": SetAllSplit(nil)", noBlock, func() { SetAllSplit(nil, blocks, hs) })
			panics(t, name+": HasAllSplit of nothing", noBlock, func() { HasAllSplit(nil, blocks, nil) })
		}
		panics(t, tier+" HasAllSplit, short dst", badDst, func() { HasAllSplit(dst[:29], full, hs) })
		panics(t, tier+" HasAllSplit, nil dst", badDst, func() { HasAllSplit(nil, full, hs) })
		panics(t, tier+" SetAllSplit, short dst", badDst, func() { SetAllSplit(dst[:29], full, hs) })
		panics(t, tier+" SetAllSplit, empty dst", badDst, func() { SetAllSplit(dst[:0], full, hs) })
		if slices.Contains(dst, true) || slices.ContainsFunc(full, func(b SplitBlock) bool { return b != SplitBlock{} }) {
			t.Errorf("%s: something was written before a panic", tier)
		}
	}
}

// TestSplitRate compares the share of absent keys that are found with the
// exact rate of the layout, within 3 standard deviations: the salts must throw
// as well as chance does.
func TestSplitRate(t *testing.T) {
	if testing.Short() {
		t.Skip("statistics: once is enough")
	}
	for _, c := range []struct {
		bits int
		want float64
	}{{10, 1.2648e-2}, {16, 1.3156e-3}} {
		r := rand.New(rand.NewPCG(26, 5))
		const n, absent = 1 << 20, 1 << 22
		blocks := make([]SplitBlock, n*c.bits/256)
		hs, dst := make([]uint64, chunk), make([]bool, chunk)
		for range n / chunk {
			for i := range hs {
				hs[i] = r.Uint64()
			}
			SetAllSplit(nil, blocks, hs)
		}
		found := 0
		for range absent / chunk {
			for i := range hs {
				hs[i] = r.Uint64()
			}
			HasAllSplit(dst, blocks, hs)
			for _, ok := range dst {
				if ok {
					found++
				}
			}
		}
		got, sigma := float64(found)/absent, 1.1*math.Sqrt(c.want/absent)
		if math.Abs(got-c.want) > 3*sigma {
			t.Errorf("%d bits per key: rate %.4g, want %.4g ± %.2g", c.bits, got, c.want, 3*sigma)
		}
	}
}

func BenchmarkSplit(b *testing.B) {
	for _, mib := range []int{1, 64} {
		for _, tier := range tiers() {
			r := rand.New(rand.NewPCG(27, 6))
			blocks := make([]SplitBlock, mib<<20/32)
			for i, w := range SplitWords(blocks) {
				SplitWords(blocks)[i] = w | r.Uint64()
			}
			hs, dst := make([]uint64, 1<<16), make([]bool, 1<<16)
			for i := range hs {
				hs[i] = r.Uint64()
			}
			for _, c := range []struct {
				op  string
				run func()
			}{
				{"has", func() {
					for i, h := range hs {
						dst[i] = HasSplit(blocks, h)
					}
				}},
				{"hasAll", func() { HasAllSplit(dst, blocks, hs) }},
				{"setAll", func() { SetAllSplit(nil, blocks, hs) }},
				{"setAllFresh", func() { SetAllSplit(dst, blocks, hs) }},
			} {
				b.Run(fmt.Sprintf("op=%s/mib=%d/impl=%s", c.op, mib, tier), func(b *testing.B) {
					use(b, tier)
					b.ReportAllocs()
					for b.Loop() {
						c.run()
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(hs)), "ns/key")
				})
			}
		}
	}
}
