package redisbloom_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/redisbloom"
)

func TestTopKParameters(t *testing.T) {
	good := redisbloom.TopKParams{K: 10, Width: 50, Depth: 4, Decay: 0.9}
	for _, c := range []struct {
		change func(p *redisbloom.TopKParams)
		want   error
	}{
		{func(p *redisbloom.TopKParams) { p.K = 0 }, bloomery.ErrParameter},
		{func(p *redisbloom.TopKParams) { p.Width = 0 }, bloomery.ErrParameter},
		{func(p *redisbloom.TopKParams) { p.Depth = 0 }, bloomery.ErrParameter},
		{func(p *redisbloom.TopKParams) { p.Decay = 0 }, bloomery.ErrParameter},
		{func(p *redisbloom.TopKParams) { p.Decay = 1.1 }, bloomery.ErrParameter},
		{func(p *redisbloom.TopKParams) { p.Decay = math.NaN() }, bloomery.ErrParameter},
		{func(p *redisbloom.TopKParams) { p.Width, p.Depth = math.MaxUint32, math.MaxUint32 }, bloomery.ErrTooLarge},
		{func(p *redisbloom.TopKParams) { p.K, p.Width, p.Depth = math.MaxUint32, math.MaxUint32, 32 }, bloomery.ErrTooLarge},
	} {
		p := good
		c.change(&p)
		if _, err := redisbloom.NewTopK(p); !errors.Is(err, c.want) {
			t.Errorf("NewTopK(%+v): %v, want %v", p, err, c.want)
		}
		if _, err := p.Bytes(); !errors.Is(err, c.want) {
			t.Errorf("%+v.Bytes(): %v, want %v", p, err, c.want)
		}
	}
	k := newTopK(t, good)
	if n, err := good.Bytes(); n != k.Bytes() || n != 2184+32+10*32+50*4*8 || err != nil {
		t.Errorf("Bytes() = %d, %v before and %d after", n, err, k.Bytes())
	}
	if k.Size() != 2088+50*4*8+24*10 {
		t.Errorf("Size() = %d", k.Size())
	}
	for _, n := range []int64{-1, redisbloom.MaxIncrement + 1, math.MinInt64, math.MaxInt64} {
		if _, _, err := k.Incr([]byte("a"), n); !errors.Is(err, bloomery.ErrParameter) || k.Contains([]byte("a")) {
			t.Errorf("Incr by %d: %v", n, err)
		}
	}
}

// topKModel is the law of the sketch restated as plainly as possible, without
// chances: a count of another always falls, or never.
type topKModel struct {
	always       bool
	width, depth uint32
	cells        map[[2]uint32]*topKCell
	heap         []topKCell
}

type topKCell struct {
	item  string
	set   bool
	fp    uint32
	count int
}

func (m *topKModel) add(item string, n int) (expelled string, ok bool) {
	hs := hashes(item, uint64(m.depth))
	fp := hashes(item, 1920)[1919]
	least, best := m.heap[0].count, 0
	for row, h := range hs {
		at := [2]uint32{uint32(row), h % m.width}
		c := m.cells[at]
		if c == nil {
			c = &topKCell{}
			m.cells[at] = c
		}
		switch {
		case c.count == 0:
			c.fp, c.count = fp, n
			best = max(best, n)
		case c.fp == fp:
			c.count += n
			best = max(best, c.count)
		case m.always && n >= c.count:
			c.fp, c.count = fp, n-c.count+1
			best = max(best, c.count)
		case m.always:
			c.count -= n
		}
	}
	if best < least {
		return "", false
	}
	i := len(m.heap) - 1
	for ; i >= 0; i-- {
		if m.heap[i].set && m.heap[i].fp == fp && m.heap[i].item == item {
			break
		}
	}
	if i < 0 {
		i = 0
		expelled, ok = m.heap[0].item, m.heap[0].set
		m.heap[0] = topKCell{item: item, set: true, fp: fp}
	}
	m.heap[i].count = best
	for step := 0; 2*i+1 < len(m.heap); step++ {
		c := 2*i + 1
		if c+1 < len(m.heap) && m.heap[c].count > m.heap[c+1].count {
			c++
		}
		if step == 0 && m.heap[c].count > m.heap[i].count || step > 0 && m.heap[c].count >= m.heap[i].count {
			break
		}
		m.heap[i], m.heap[c] = m.heap[c], m.heap[i]
		i = c
	}
	return expelled, ok
}

// TestTopKHistory runs random histories through the sketch, through one that is
// reloaded all the time, and through the model.
func TestTopKHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := redisbloom.TopKParams{
			K:     uint32(rapid.IntRange(1, 8).Draw(t, "k")),
			Width: uint32(rapid.IntRange(1, 20).Draw(t, "width")),
			Depth: uint32(rapid.IntRange(1, 6).Draw(t, "depth")),
			Decay: rapid.SampledFrom([]float64{1, 1e-300}).Draw(t, "decay"),
		}
		k, err := redisbloom.NewTopK(p)
		if err != nil {
			t.Fatal(err)
		}
		m := &topKModel{always: p.Decay == 1, width: p.Width, depth: p.Depth, cells: map[[2]uint32]*topKCell{}, heap: make([]topKCell, p.K)}
		stored, _ := redisbloom.NewTopK(p)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			name := fmt.Sprint("i", rapid.IntRange(0, 20).Draw(t, "item"))
			n := rapid.SampledFrom([]int{0, 1, 1, 2, 3, 10, 300, 1000}).Draw(t, "n")
			want, wantOK := m.add(name, n)
			got, ok, err := k.Incr([]byte(name), int64(n))
			if string(got) != want || ok != wantOK || err != nil {
				t.Fatalf("Incr(%s, %d) = %q, %v, %v, want %q, %v", name, n, got, ok, err, want, wantOK)
			}
			_, _, _ = stored.Incr([]byte(name), int64(n))
			if rapid.IntRange(0, 7).Draw(t, "reload") == 0 {
				data, _ := stored.MarshalBinary()
				if err := stored.UnmarshalBinary(data); err != nil {
					t.Fatal(err)
				}
			}
			if k.Contains(got) && ok {
				t.Fatalf("%q was expelled and is there", got)
			}
		}
		listed := 0
		for it, count := range k.All() {
			listed++
			if !k.Contains(it) || !slices.ContainsFunc(m.heap, func(c topKCell) bool { return c.item == string(it) && c.count == int(count) }) {
				t.Fatalf("%q with %d is not in the model", it, count)
			}
		}
		want := 0
		for _, c := range m.heap {
			if c.count > 0 {
				want++
			}
		}
		if s := k.Stats(); listed != want || s.Items != want || int(s.Least) != m.heap[0].count {
			t.Fatalf("%d items listed, want %d; %+v", listed, want, s)
		}
		a, _ := k.MarshalBinary()
		if b, _ := stored.MarshalBinary(); !bytes.Equal(a, b) {
			t.Fatal("the reloaded sketch differs")
		}
	})
}

// TestTopKLaws holds with chances what must hold whatever they are.
func TestTopKLaws(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 200 {
		p := redisbloom.TopKParams{
			K: 1 + uint32(rng.IntN(20)), Width: 1 + uint32(rng.IntN(30)), Depth: 1 + uint32(rng.IntN(8)),
			Decay: []float64{0.5, 0.9, 0.99, 1}[rng.IntN(4)], Seed: rng.Uint64(),
		}
		k, again := newTopK(t, p), newTopK(t, p)
		truth := map[string]uint32{}
		for range 500 {
			it := item(rng.IntN(60))
			n := rng.Int64N(20)
			truth[string(it)] += uint32(n)
			expelled, ok, _ := k.Incr(it, n)
			if ok && (k.Contains(expelled) || expelled == nil) {
				t.Fatalf("%q was expelled and is there", expelled)
			}
			_, _, _ = again.Incr(it, n)
		}
		equal(t, k.MarshalBinary, again.MarshalBinary)
		last, listed := uint32(math.MaxUint32), uint32(0)
		for it, count := range k.All() {
			if listed++; count > last || count > truth[string(it)] || !k.Contains(it) {
				t.Fatalf("%q with %d after %d, added %d", it, count, last, truth[string(it)])
			}
			last = count
		}
		if listed > p.K {
			t.Fatalf("%d items of %d", listed, p.K)
		}
		for it, n := range truth {
			if got := k.Count([]byte(it)); got > n {
				t.Fatalf("Count(%q) = %d, added %d", it, got, n)
			}
		}
	}
}

// TestTopKChances compares chances with decay^count, in the table and beyond.
func TestTopKChances(t *testing.T) {
	for _, decay := range []float64{1, 0.9999, 0.99, 0.9, 0.5, 1e-10, 1e-300} {
		k := newTopK(t, redisbloom.TopKParams{K: 1, Width: 1, Depth: 1, Decay: decay})
		for _, count := range []uint32{1, 2, 100, 254, 255, 256, 257, 509, 510, 511, 1000, 60000, math.MaxUint32} {
			got, want := float64(k.Chance(count))/0x1p64, math.Pow(decay, float64(count))
			if math.Abs(got-want) > 1e-12 {
				t.Errorf("decay %v, count %d: chance %v, want %v", decay, count, got, want)
			}
		}
	}
}

// TestTopKDraws lets one item wear another down: the number of decrements of a
// count of 3 at decay 0.5 is 1 in 8, within 4 standard deviations.
func TestTopKDraws(t *testing.T) {
	const n = 20000
	falls := 0
	for i := range uint64(n) {
		k := newTopK(t, redisbloom.TopKParams{K: 1, Width: 1, Depth: 1, Decay: 0.5, Seed: i * 0x2545f4914f6cdd1d})
		_, _, _ = k.Incr([]byte("first"), 3)
		k.Add([]byte("second"))
		if k.Count([]byte("first")) != 3 {
			falls++
		}
	}
	if mean, sigma := n/8.0, math.Sqrt(n/8.0*7/8); math.Abs(float64(falls)-mean) > 4*sigma {
		t.Errorf("%d of %d counts fell, want %.0f", falls, n, mean)
	}
}

// TestTopKItems keeps items whole: zero bytes, and the empty one.
func TestTopKItems(t *testing.T) {
	k := newTopK(t, redisbloom.TopKParams{K: 3, Width: 100, Depth: 3, Decay: 0.9})
	before := k.Bytes()
	for _, it := range []string{"", "a\x00b", "a"} {
		k.Add([]byte(it))
		if !k.Contains([]byte(it)) || k.Count([]byte(it)) != 1 {
			t.Errorf("%q is not there", it)
		}
	}
	if k.Bytes() != before+4 {
		t.Errorf("%d bytes more, want 4", k.Bytes()-before)
	}
	seen := 0
	for it := range k.All() {
		if it == nil {
			t.Error("an item without a name")
		}
		seen += len(it) + 1
	}
	if seen != 7 {
		t.Errorf("items listed have %d bytes", seen)
	}
	// A dump of RedisBloom cuts items, and has no name for the empty one.
	loaded, err := k.Dump().New(nil)
	if err != nil {
		t.Fatal(err)
	}
	var items []string
	for it, count := range loaded.All() {
		items = append(items, fmt.Sprintf("%q %v %d", it, it == nil, count))
	}
	slices.Sort(items)
	if got, want := fmt.Sprint(items), `["" true 1 "a" false 1 "a" false 1]`; got != want {
		t.Errorf("loaded %s, want %s", got, want)
	}
	if !loaded.Contains(nil) || !loaded.Contains([]byte("a")) || loaded.Contains([]byte("a\x00b")) {
		t.Error("Contains differs from what a dump holds")
	}
}

// TestTopKSaturates adds more than a count can hold: it stays at the largest.
func TestTopKSaturates(t *testing.T) {
	k := newTopK(t, redisbloom.TopKParams{K: 1, Width: 1, Depth: 1, Decay: 0.9})
	for range math.MaxUint32/redisbloom.MaxIncrement + 2 {
		_, _, _ = k.Incr([]byte("a"), redisbloom.MaxIncrement)
	}
	if got := k.Count([]byte("a")); got != math.MaxUint32 || !k.Contains([]byte("a")) {
		t.Errorf("Count = %d, want %d", got, uint32(math.MaxUint32))
	}
}

func TestTopKAllocs(t *testing.T) {
	k := newTopK(t, redisbloom.TopKParams{K: 10, Width: 100, Depth: 7, Decay: 0.9})
	for i := range 10 {
		_, _, _ = k.Incr(item(i), 1000)
	}
	hot, cold := item(0), []byte("another item")
	if got := testing.AllocsPerRun(100, func() {
		k.Add(hot)
		k.Add(cold)
		k.Contains(hot)
		k.Count(cold)
		k.Stats()
	}); got != 0 {
		t.Errorf("%v allocations", got)
	}
}

// TestTopKDumpLengths makes each part of a dump shorter and longer.
func TestTopKDumpLengths(t *testing.T) {
	k := newTopK(t, redisbloom.TopKParams{K: 3, Width: 4, Depth: 3, Decay: 0.9})
	k.Add([]byte("a"))
	if _, err := k.Dump().Bytes(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(d *redisbloom.TopKDump){
		"fewer cells": func(d *redisbloom.TopKDump) { d.Cells = d.Cells[1:] },
		"more cells":  func(d *redisbloom.TopKDump) { d.Cells = append(d.Cells, 0) },
		"fewer slots": func(d *redisbloom.TopKDump) { d.Slots = d.Slots[1:] },
		"more slots":  func(d *redisbloom.TopKDump) { d.Slots = append(d.Slots, 0) },
		"fewer items": func(d *redisbloom.TopKDump) { d.Items = d.Items[1:] },
		"more items":  func(d *redisbloom.TopKDump) { d.Items = append(d.Items, []byte{0}) },
	} {
		d := k.Dump()
		change(&d)
		if _, err := d.Bytes(); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("%s: Bytes: %v", name, err)
		}
		if _, err := d.New(nil); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("%s: New: %v", name, err)
		}
	}
}

// TestTopKSaturation compares with the cells of the dump, of a sketch with so few
// that all are looked at.
func TestTopKSaturation(t *testing.T) {
	k := newTopK(t, redisbloom.TopKParams{K: 3, Width: 9, Depth: 3, Decay: 0.9})
	for i := range 12 {
		used, cells := 0, k.Dump().Cells
		for j := 0; j < len(cells); j += 8 {
			if binary.LittleEndian.Uint32(cells[j+4:]) > 0 {
				used++
			}
		}
		if got, want := k.Stats().Saturation, float64(used)/27; got != want {
			t.Errorf("after %d items: saturation %v, want %v", i, got, want)
		}
		k.Add(item(i))
	}
}
