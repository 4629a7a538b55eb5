package kernel

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

// guard is written around every array that a kernel may not leave.
const guard = 0xa5

// arena is a block array with 8 guard words on each side that begins shift
// words after a cache line.
type arena struct {
	words  []uint64
	blocks []Block
}

func newArena(n, shift int) *arena {
	words := make([]uint64, 8*n+32)
	off := int(-uintptr(unsafe.Pointer(&words[0])) & 63 / 8)
	words = words[off : off+8*n+24]
	for i := range words {
		words[i] = guard
	}
	blocks := unsafe.Slice((*Block)(unsafe.Pointer(&words[8+shift])), n)
	clear(blocks)
	return &arena{words, blocks}
}

// intact reports whether the guard words are as they were.
func (a *arena) intact(shift int) bool {
	for i, w := range a.words {
		if (i < 8+shift || i >= 8+shift+8*len(a.blocks)) && w != guard {
			return false
		}
	}
	return true
}

// half fills a part of the bits, so that there are hits and misses.
func (a *arena) half(r *rand.Rand, k int) {
	if k < 3 {
		return // half of the bits is half of the keys already
	}
	for i := range a.blocks {
		for j := range a.blocks[i] {
			a.blocks[i][j] = r.Uint64() | r.Uint64()
		}
	}
}

// hashes returns n hashes with extremes, pairs of equal ones, and ones of the
// first and last block, in a slice that is not aligned to more than 8 bytes.
func hashes(r *rand.Rand, n int) []uint64 {
	hs := make([]uint64, n+1)[1:]
	extremes := []uint64{0, ^uint64(0), 1 << 63, 1<<63 - 1, 1, 1 << 32, 1<<32 - 1, ^uint64(0) - 1}
	for i := range hs {
		switch r.IntN(8) {
		case 0:
			hs[i] = extremes[r.IntN(len(extremes))]
		case 1:
			hs[i] = hs[r.IntN(i+1)]
		case 2:
			hs[i] = ^(r.Uint64() >> 32)
		default:
			hs[i] = r.Uint64()
		}
	}
	return hs
}

// expected is what the functions of a layout should do to an array and a list
// of hashes, according to the Go code for one key.
type expected struct {
	name          string // the parameters, for messages
	shift         int
	hashes        int
	before, after *arena
	has, fresh    []bool
}

// expect makes an arena, fills a part of it for k bits per key and runs has
// and set on it.
func expect(r *rand.Rand, name string, k, n, shift int, hs []uint64, has, set func(blocks []Block, h uint64) bool) *expected {
	e := &expected{
		name: name, shift: shift, hashes: len(hs),
		before: newArena(n, shift), after: newArena(n, shift),
		has: make([]bool, len(hs)), fresh: make([]bool, len(hs)),
	}
	e.before.half(r, k)
	copy(e.after.blocks, e.before.blocks)
	for i, h := range hs {
		e.has[i] = has(e.before.blocks, h)
		e.fresh[i] = set(e.after.blocks, h)
	}
	return e
}

// check runs f on a copy of the array before and compares answers, bits and
// guards. Without answers dst must stay as it is.
func (e *expected) check(t *testing.T, name string, answers []bool, want *arena, f func(dst []bool, blocks []Block)) {
	t.Helper()
	a := newArena(len(want.blocks), e.shift)
	copy(a.blocks, e.before.blocks)
	room := make([]byte, e.hashes+64)
	for i := range room {
		room[i] = guard
	}
	dst := unsafe.Slice((*bool)(unsafe.Pointer(&room[3])), e.hashes+13)
	f(dst, a.blocks)
	for i := range room {
		want := byte(guard)
		if i >= 3 && i-3 < e.hashes && answers != nil {
			want = 0
			if answers[i-3] {
				want = 1
			}
		}
		if room[i] != want {
			t.Fatalf("%s, %s, %d hashes: dst[%d] = %#x, want %#x", name, e.name, e.hashes, i-3, room[i], want)
		}
	}
	if !slices.Equal(a.blocks, want.blocks) {
		t.Fatalf("%s, %s, %d hashes: bits differ", name, e.name, e.hashes)
	}
	if !a.intact(e.shift) {
		t.Fatalf("%s, %s, %d hashes: wrote outside of blocks", name, e.name, e.hashes)
	}
}

// agree runs all functions of a tier on copies of one array and compares
// answers, bits and guards with goHas and goSet, one key at a time.
func agree(t *testing.T, r *rand.Rand, k, n, shift int, hs []uint64) {
	t.Helper()
	e := expect(r, fmt.Sprintf("k=%d, %d blocks", k, n), k, n, shift, hs,
		func(blocks []Block, h uint64) bool { return goHas(blocks, k, h) },
		func(blocks []Block, h uint64) bool { return goSet(blocks, k, h) })
	for _, tier := range tiers() {
		t.Run(tier, func(t *testing.T) {
			use(t, tier)
			e.check(t, "HasAll", e.has, e.before, func(dst []bool, blocks []Block) { HasAll(dst, blocks, k, hs) })
			e.check(t, "SetAll", e.fresh, e.after, func(dst []bool, blocks []Block) { SetAll(dst, blocks, k, hs) })
			e.check(t, "SetAll without dst", nil, e.after, func(_ []bool, blocks []Block) { SetAll(nil, blocks, k, hs) })
			e.check(t, "Has", e.has, e.before, func(dst []bool, blocks []Block) {
				for i, h := range hs {
					dst[i] = Has(blocks, k, h)
				}
			})
			e.check(t, "Set", e.fresh, e.after, func(dst []bool, blocks []Block) {
				for i, h := range hs {
					dst[i] = Set(blocks, k, h)
				}
			})
		})
	}
}

func TestAgree(t *testing.T) {
	counts := []int{1, 2, 3, 5, 7, 8, 9, 31, 32, 33, 97, 255, 256, 257, 1021}
	for k := 1; k <= MaxK; k++ {
		r := rand.New(rand.NewPCG(2, uint64(k)))
		for length := range 71 {
			agree(t, r, k, counts[length%len(counts)], length%2, hashes(r, length))
		}
		for _, n := range counts {
			for shift := range 8 {
				agree(t, r, k, n, shift, hashes(r, 100))
			}
		}
		for _, length := range []int{chunk - 1, chunk, chunk + 1, 2*chunk + 23, 2*chunk + 24, 2*chunk + 25} {
			agree(t, r, k, 4093, 1, hashes(r, length))
		}
	}
}

// TestLastBlock asks for the last block of arrays of hostile lengths.
func TestLastBlock(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for _, n := range []int{1, 2, 3, 5, 1 << 12, 1<<12 - 1, 1<<12 + 1, 65537} {
		// The hashes of block n-1 begin at (n-1)/n of all hashes.
		low := ^uint64(0) - ^uint64(0)/uint64(n) + 2
		hs := []uint64{low, low - 1, low - 2, low - 3, low + 1, ^uint64(0)}
		for _, k := range []int{1, 6, 8, 9, 16} {
			agree(t, r, k, n, 1, hs)
		}
	}
}

// TestEqualKeys holds SetAll to the order of its keys.
func TestEqualKeys(t *testing.T) {
	hs := make([]uint64, 100)
	for i := range hs {
		hs[i] = 0x0123456789abcdef
	}
	for _, tier := range tiers() {
		t.Run(tier, func(t *testing.T) {
			use(t, tier)
			for k := 1; k <= MaxK; k++ {
				dst := make([]bool, len(hs))
				SetAll(dst, make([]Block, 10), k, hs)
				if !dst[0] || slices.Contains(dst[1:], true) {
					t.Errorf("k=%d: SetAll of equal keys = %v, want true, then false", k, dst)
				}
			}
		})
	}
}

func FuzzAgree(f *testing.F) {
	f.Add(uint8(5), uint16(0), uint8(0), []byte("01234567"))
	f.Add(uint8(7), uint16(999), uint8(3), make([]byte, 8*25))
	f.Add(uint8(15), uint16(64), uint8(7), []byte{255, 255, 255, 255, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, k uint8, n uint16, shift uint8, data []byte) {
		hs := make([]uint64, 0, len(data)/8)
		for ; len(data) >= 8; data = data[8:] {
			hs = append(hs, binary.LittleEndian.Uint64(data))
		}
		r := rand.New(rand.NewPCG(uint64(n), uint64(k)))
		agree(t, r, int(k)%MaxK+1, int(n)+1, int(shift)%8, hs)
	})
}
