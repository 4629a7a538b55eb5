package bloom_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/golden"
)

// bare returns a filter of n keys, its hashes and its bare form, which begins at no
// particular address.
func bare(tb testing.TB, n, k int) (*bloom.Filter, []uint64, []byte) {
	tb.Helper()
	f, err := bloom.Config{Bits: uint64(10 * n), Hashes: k}.New()
	if err != nil {
		tb.Fatal(err)
	}
	hs := make([]uint64, n)
	for i := range hs {
		hs[i] = hashing.Hasher{}.HashUint64(uint64(i))
	}
	f.AddHashes(nil, hs)
	data, err := f.AppendBare([]byte("abc"))
	if err != nil {
		tb.Fatal(err)
	}
	return f, hs, data[3:]
}

// A bare filter answers as the filter does, of one block and of many, for every number
// of bits.
func TestBareAnswersAsFilter(t *testing.T) {
	for _, n := range []int{1, 30, 5000} {
		for k := 1; k <= 16; k++ {
			f, hs, data := bare(t, n, k)
			b, err := bloom.OpenBare(data)
			if err != nil {
				t.Fatal(err)
			}
			for i, h := range hs {
				if !b.ContainsHash(h) {
					t.Fatalf("n = %d, k = %d: key %d is forgotten", n, k, i)
				}
			}
			for i := range uint64(10_000) {
				if h := (hashing.Hasher{}).HashUint64(1<<40 + i); b.ContainsHash(h) != f.ContainsHash(h) {
					t.Fatalf("n = %d, k = %d: ContainsHash(%#x) = %v, want %v", n, k, h, b.ContainsHash(h), f.ContainsHash(h))
				}
			}
		}
	}
}

func TestBareRefuses(t *testing.T) {
	_, _, good := bare(t, 30, 7)
	for name, data := range map[string][]byte{
		"nothing":     nil,
		"a byte":      {7},
		"no blocks":   good[len(good)-1:],
		"a byte less": good[1:],
		"a byte more": append([]byte{0}, good...),
		"no bits":     append(slices.Clone(good[:64]), 0),
		"17 bits":     append(slices.Clone(good[:64]), 17),
	} {
		if b, err := bloom.OpenBare(data); !errors.Is(err, bloomery.ErrCorrupt) || b.ContainsHash(1) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
	}
	if _, err := new(bloom.Filter).AppendBare(nil); !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("bare form of a zero filter: %v, want ErrParameter", err)
	}
}

func TestBareAllocatesNothing(t *testing.T) {
	_, hs, data := bare(t, 1000, 8)
	for name, data := range map[string][]byte{"open": data, "refuse": data[1:]} {
		yes := 0
		if n := testing.AllocsPerRun(100, func() {
			if b, err := bloom.OpenBare(data); err == nil && b.ContainsHash(hs[0]) {
				yes++
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func TestGoldenBare(t *testing.T) {
	for _, k := range []int{6, 12} {
		_, hs, data := bare(t, 80, k)
		b, err := bloom.OpenBare(golden.File(t, fmt.Sprintf("v1-bare-bloom-%d", k), data))
		if err != nil {
			t.Fatal(err)
		}
		for i, h := range hs {
			if !b.ContainsHash(h) {
				t.Errorf("key %d is missing", i)
			}
		}
	}
}

func FuzzBare(f *testing.F) {
	_, _, data := bare(f, 30, 7)
	f.Add(data, uint64(1))
	f.Add([]byte{}, uint64(2))
	f.Fuzz(func(t *testing.T, data []byte, h uint64) {
		b, err := bloom.OpenBare(data)
		if err != nil {
			checkCauses(t, err)
		}
		for _, h := range []uint64{h, 0, 1<<64 - 1} {
			b.ContainsHash(h)
		}
	})
}
