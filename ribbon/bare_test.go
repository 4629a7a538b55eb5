package ribbon_test

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/golden"
	"github.com/bloomery/bloomery/ribbon"
)

// bare returns the bare form of a filter, which begins at no particular address.
func bare(tb testing.TB, f *ribbon.Filter) []byte {
	tb.Helper()
	data, err := f.AppendBare([]byte("abc"))
	if err != nil {
		tb.Fatal(err)
	}
	return data[3:]
}

// A bare filter answers as the filter does: lists alone, one layer and several, with
// blocks of one width of column and of two.
func TestBareAnswersAsFilter(t *testing.T) {
	for _, p := range []float64{0.4, 1e-2, 1. / 256, 1e-5, math.Ldexp(1, -32)} {
		for _, n := range []int{0, 1, 10, 100, 3000, 100_000} {
			hs := hashes(n, 1)
			f := built(t, ribbon.Config{ErrorRate: p}, hs)
			b, err := ribbon.OpenBare(bare(t, f))
			if err != nil {
				t.Fatalf("n = %d, p = %g: %v", n, p, err)
			}
			for _, h := range hs {
				if !b.ContainsHash(h) {
					t.Fatalf("n = %d, p = %g: hash %#x is forgotten", n, p, h)
				}
			}
			for _, h := range append(hashes(20_000, 2), 0, math.MaxUint64) {
				if b.ContainsHash(h) != f.ContainsHash(h) {
					t.Fatalf("n = %d, p = %g: ContainsHash(%#x) = %v, want %v", n, p, h, b.ContainsHash(h), f.ContainsHash(h))
				}
			}
		}
	}
}

func TestBareRefuses(t *testing.T) {
	good := bare(t, built(t, ribbon.Config{ErrorRate: 0.01}, hashes(5000, 1)))
	le, word := binary.LittleEndian, len(good)-8
	layers := int(good[word+5])
	if layers < 2 {
		t.Fatalf("%d layers, want some", layers)
	}
	first := word - 8*layers
	for name, change := range map[string]func(b []byte) []byte{
		"nothing":            func([]byte) []byte { return nil },
		"a word less":        func(b []byte) []byte { return b[8:] },
		"a byte more":        func(b []byte) []byte { return append([]byte{0}, b...) },
		"a word more":        func(b []byte) []byte { return append(make([]byte, 8), b...) },
		"no last word":       func(b []byte) []byte { return b[:word] },
		"the last word":      func(b []byte) []byte { return b[word:] },
		"another form":       func(b []byte) []byte { b[word+7] = 0x41; return b },
		"no zero":            func(b []byte) []byte { b[word+6] = 1; return b },
		"no columns":         func(b []byte) []byte { b[word+4] = 0; return b },
		"33 columns":         func(b []byte) []byte { b[word+4] = 33; return b },
		"one column more":    func(b []byte) []byte { b[word+4]++; return b },
		"wide with 32":       func(b []byte) []byte { b[word+4] = 32; return b },
		"no layers":          func(b []byte) []byte { b[word+5] = 0; return b },
		"a layer less":       func(b []byte) []byte { b[word+5]--; return b },
		"a layer more":       func(b []byte) []byte { b[word+5]++; return b },
		"13 layers":          func(b []byte) []byte { b[word+5] = 13; return b },
		"longer list":        func(b []byte) []byte { b[word]++; return b },
		"longest list":       func(b []byte) []byte { le.PutUint32(b[word:], math.MaxUint32); return b },
		"no blocks":          func(b []byte) []byte { le.PutUint64(b[first:], 0); return b },
		"one block":          func(b []byte) []byte { le.PutUint64(b[first:], 1<<32|1); return b },
		"more blocks":        func(b []byte) []byte { b[first]++; return b },
		"most blocks":        func(b []byte) []byte { le.PutUint32(b[first:], math.MaxUint32); return b },
		"all wide":           func(b []byte) []byte { le.PutUint32(b[first+4:], 0); return b },
		"most narrow blocks": func(b []byte) []byte { le.PutUint32(b[first+4:], math.MaxUint32); return b },
	} {
		b, err := ribbon.OpenBare(change(slices.Clone(good)))
		if !errors.Is(err, bloomery.ErrCorrupt) || b.ContainsHash(1) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
	}
	var zero ribbon.Filter
	for name, f := range map[string]*ribbon.Filter{
		"zero": &zero, "shards": built(t, ribbon.Config{ErrorRate: 0.1, Shards: 2}, nil), "rows of 128": built(t, ribbon.Config{ErrorRate: 0.1, Width: 128}, nil),
	} {
		if _, err := f.AppendBare(nil); !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("bare form, %s: %v, want ErrParameter", name, err)
		}
	}
}

// Tables and lists may hold anything: answers are wrong then, and nothing else.
func TestBareOfAnything(t *testing.T) {
	for _, n := range []int{10, 5000} {
		good := bare(t, built(t, ribbon.Config{ErrorRate: 0.01}, hashes(n, 1)))
		body := len(good) - 8 - 8*int(good[len(good)-3])
		for _, fill := range []byte{0, 0xff, 0x55} {
			data := slices.Clone(good)
			for i := range body {
				data[i] = fill
			}
			b, err := ribbon.OpenBare(data)
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range append(hashes(5000, 2), 0, math.MaxUint64) {
				b.ContainsHash(h)
			}
		}
	}
}

func TestBareAllocatesNothing(t *testing.T) {
	hs := hashes(5000, 1)
	data := bare(t, built(t, ribbon.Config{ErrorRate: 0.01}, hs))
	for name, data := range map[string][]byte{"open": data, "refuse": data[1:]} {
		yes, i := 0, 0
		if n := testing.AllocsPerRun(len(hs), func() {
			if b, err := ribbon.OpenBare(data); err == nil && b.ContainsHash(hs[i%len(hs)]) {
				yes++
			}
			i++
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func TestGoldenBare(t *testing.T) {
	for name, n := range map[string]int{"v1-bare-ribbon-empty": 0, "v1-bare-ribbon-list": 10, "v1-bare-ribbon-1e-2": 3000} {
		var hs []uint64
		for i := range n {
			hs = append(hs, ribbon.Config{}.Hasher.HashUint64(uint64(i)))
		}
		b, err := ribbon.OpenBare(golden.File(t, name, bare(t, built(t, ribbon.Config{ErrorRate: 0.01}, hs))))
		if err != nil {
			t.Fatalf("%s is not read any more: %v", name, err)
		}
		for i, h := range hs {
			if !b.ContainsHash(h) {
				t.Errorf("%s: key %d is missing", name, i)
			}
		}
	}
}

func FuzzBare(f *testing.F) {
	for _, n := range []int{0, 10, 300, 2000} {
		f.Add(bare(f, built(f, ribbon.Config{ErrorRate: 0.1}, hashes(n, 1))), uint64(1))
		f.Add(bare(f, built(f, ribbon.Config{ErrorRate: 1e-9}, hashes(n, 1))), uint64(2))
	}
	f.Fuzz(func(t *testing.T, data []byte, h uint64) {
		b, err := ribbon.OpenBare(data)
		if err != nil {
			checkCauses(t, err)
		}
		for _, h := range []uint64{h, 0, 1 << 63, math.MaxUint64} {
			b.ContainsHash(h)
		}
	})
}

// BenchmarkBare opens the form for each lookup, as a database does.
func BenchmarkBare(b *testing.B) {
	hs, absent := hashes(100_000, 1), hashes(1<<16, 2)
	data := bare(b, built(b, ribbon.Config{ErrorRate: 0.01}, hs))
	for hit, asked := range [][]uint64{absent, hs[:1<<16]} {
		b.Run([]string{"hit=0", "hit=1"}[hit], func(b *testing.B) {
			b.ReportAllocs()
			i, yes := 0, 0
			for b.Loop() {
				if f, err := ribbon.OpenBare(data); err == nil && f.ContainsHash(asked[i&(1<<16-1)]) {
					yes++
				}
				i++
			}
			_ = yes
		})
	}
}
