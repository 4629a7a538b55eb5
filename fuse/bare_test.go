package fuse_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/fuse"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/golden"
)

// bare returns the bare form of a filter, which begins at no particular address.
func bare[T fuse.Fingerprint](tb testing.TB, f *fuse.Filter[T]) []byte {
	tb.Helper()
	data, err := f.AppendBare([]byte("abc"))
	if err != nil {
		tb.Fatal(err)
	}
	return data[3:]
}

// A bare filter answers as the filter does.
func TestBareAnswersAsFilter(t *testing.T) {
	for _, arity := range []int{3, 4} {
		for _, n := range []int{0, 1, 2, 30, 1000, 50_000} {
			answersAlike[uint8](t, arity, n)
			answersAlike[uint16](t, arity, n)
			answersAlike[uint32](t, arity, n)
		}
	}
}

func answersAlike[T fuse.Fingerprint](t *testing.T, arity, n int) {
	t.Helper()
	hs := random(n, 1)
	compareBare(t, built(t, fuse.Config[T]{Arity: arity}, hs), hs)
}

func compareBare[T fuse.Fingerprint](t *testing.T, f *fuse.Filter[T], hs []uint64) {
	t.Helper()
	b, err := fuse.OpenBare[T](bare(t, f))
	if err != nil {
		t.Fatalf("%v: %v", f, err)
	}
	for _, h := range hs {
		if !b.ContainsHash(h) {
			t.Fatalf("%v: hash %#x is forgotten", f, h)
		}
	}
	for _, h := range append(random(10_000, 2), 0, math.MaxUint64) {
		if b.ContainsHash(h) != f.ContainsHash(h) {
			t.Fatalf("%v: ContainsHash(%#x) = %v, want %v", f, h, b.ContainsHash(h), f.ContainsHash(h))
		}
	}
}

// Hashes that are so bad that seed 0 fails.
func TestBareWithSeed(t *testing.T) {
	hs := []uint64{48, 49, 50, 51, 52, 53, 54, 55, 56, 57}
	compareBare(t, built(t, fuse.Config[uint8]{}, hs), hs)
	compareBare(t, built(t, fuse.Config[uint16]{Arity: 4}, hs), hs)
}

func TestBareRefuses(t *testing.T) {
	good := bare(t, built(t, fuse.Config[uint8]{}, random(1000, 1)))
	le, word := binary.LittleEndian, len(good)-8
	for name, change := range map[string]func(b []byte) []byte{
		"nothing":           func([]byte) []byte { return nil },
		"a word less":       func(b []byte) []byte { return b[8:] },
		"a byte more":       func(b []byte) []byte { return append([]byte{0}, b...) },
		"no word":           func(b []byte) []byte { return b[:word] },
		"the word alone":    func(b []byte) []byte { return b[word:] },
		"another width":     func(b []byte) []byte { b[word+7] = 0x22; return b },
		"another form":      func(b []byte) []byte { b[word+7] = 7; return b },
		"no segments":       func(b []byte) []byte { le.PutUint32(b[word:], 0); return b },
		"an empty one":      func(b []byte) []byte { clear(b[word : word+5]); return b },
		"one segment more":  func(b []byte) []byte { b[word]++; return b },
		"most segments":     func(b []byte) []byte { le.PutUint32(b[word:], math.MaxUint32); return b },
		"many segments":     func(b []byte) []byte { le.PutUint32(b[word:], 1<<26+1); return b },
		"short segments":    func(b []byte) []byte { b[word+4] = 5; return b },
		"long segments":     func(b []byte) []byte { b[word+4] = 19; return b },
		"longest segments":  func(b []byte) []byte { b[word+4] = 255; return b },
		"two long segments": func(b []byte) []byte { le.PutUint32(b[word:], 2); b[word+4] = 10; return b },
	} {
		b, err := fuse.OpenBare[uint8](change(slices.Clone(good)))
		if !errors.Is(err, bloomery.ErrCorrupt) || b.ContainsHash(1) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
	}
	var zero fuse.Filter[uint8]
	for name, f := range map[string]*fuse.Filter[uint8]{"zero": &zero, "shards": built(t, fuse.Config[uint8]{Shards: 2}, nil)} {
		if _, err := f.AppendBare(nil); !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("bare form, %s: %v, want ErrParameter", name, err)
		}
	}
}

func TestBareAllocatesNothing(t *testing.T) {
	hs := random(1000, 1)
	data := bare(t, built(t, fuse.Config[uint8]{}, hs))
	for name, data := range map[string][]byte{"open": data, "refuse": data[1:]} {
		yes := 0
		if n := testing.AllocsPerRun(100, func() {
			if b, err := fuse.OpenBare[uint8](data); err == nil && b.ContainsHash(hs[0]) {
				yes++
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func TestGoldenBare(t *testing.T) {
	goldenBare(t, fuse.Config[uint8]{}, 200)
	goldenBare(t, fuse.Config[uint8]{}, 0)
	goldenBare(t, fuse.Config[uint16]{Arity: 4}, 100)
	goldenBare(t, fuse.Config[uint32]{}, 80)
}

func goldenBare[T fuse.Fingerprint](t *testing.T, c fuse.Config[T], keys int) {
	t.Helper()
	var hs []uint64
	for i := range keys {
		hs = append(hs, hashing.Hasher{}.HashUint64(uint64(i)))
	}
	f := built(t, c, hs)
	b, err := fuse.OpenBare[T](golden.File(t, fmt.Sprintf("v1-bare-%s-%d-%d", f.Stats().Kind, f.Arity(), keys), bare(t, f)))
	if err != nil {
		t.Fatalf("the golden file is not read any more: %v", err)
	}
	for i, h := range hs {
		if !b.ContainsHash(h) {
			t.Errorf("key %d is missing", i)
		}
	}
}

func FuzzBare(f *testing.F) {
	for _, n := range []int{0, 30, 200} {
		f.Add(bare(f, built(f, fuse.Config[uint8]{}, random(n, 1))), uint64(1))
		f.Add(bare(f, built(f, fuse.Config[uint16]{Arity: 4}, random(n, 1))), uint64(2))
		f.Add(bare(f, built(f, fuse.Config[uint32]{}, random(n, 1))), uint64(3))
	}
	f.Fuzz(func(t *testing.T, data []byte, h uint64) {
		fuzzBare[uint8](t, data, h)
		fuzzBare[uint16](t, data, h)
		fuzzBare[uint32](t, data, h)
	})
}

func fuzzBare[T fuse.Fingerprint](t *testing.T, data []byte, h uint64) {
	b, err := fuse.OpenBare[T](data)
	if err != nil && !errors.Is(err, bloomery.ErrCorrupt) {
		t.Errorf("error without a known cause: %v", err)
	}
	for _, h := range []uint64{h, 0, math.MaxUint64} {
		b.ContainsHash(h)
	}
}
