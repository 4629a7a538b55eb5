package main

import (
	"sync"

	"github.com/greatroar/blobloom"

	"github.com/bloomery/bloomery/bench/internal/library"
)

// The contestants that many goroutines may use at once, and the plain filter
// that the cost of that is held against.
const (
	plainWho = "bloom.Filter, k = 8"
	syncWho  = "blobloom.SyncFilter, 8 hashes"
)

// shared is a filter that goroutines share.
type shared struct {
	who string
	do  map[library.Call]func(dst []bool, hs []uint64)
}

// concurrentLoops times filters with one goroutine and with two that share
// the keys of a pass.
func concurrentLoops(o options, mib int) []loop {
	p := newPools(o, mib<<20, scramble)
	_, as := arrays(mib, ours8)
	loops := loopsOf(sample{Section: "concurrent", Who: plainWho, MiB: mib}, o, p, as[0].Hashes)
	for _, f := range sharedFilters(mib << 20) {
		s := sample{Section: "concurrent", Who: f.who + ", 1 goroutine", MiB: mib}
		loops = append(loops, loopsOf(s, o, p, f.do)...)
		s.Who = f.who + ", 2 goroutines"
		for _, l := range loopsOf(s, o, p, f.do) {
			loops = append(loops, inTwo(l, o, p.of(l.Keys), f.do[l.Call]))
		}
	}
	return loops
}

// sharedFilters makes the filters. bloom.Concurrent joins them here.
func sharedFilters(bytes int) []shared {
	return []shared{syncFilter(bytes)}
}

func syncFilter(bytes int) shared {
	f := blobloom.NewSync(uint64(bytes)*8, 8)
	randomize(library.Memory(f, "b"))
	return shared{syncWho, map[library.Call]func([]bool, []uint64){
		library.HasOne: func(dst []bool, hs []uint64) {
			for i, h := range hs {
				dst[i] = f.Has(h)
			}
		},
		library.AddOne: func(_ []bool, hs []uint64) {
			for _, h := range hs {
				f.Add(h)
			}
		},
	}}
}

// inTwo returns l with its passes split between two goroutines, each with
// batches of its own.
func inTwo(l loop, o options, list []uint64, do func([]bool, []uint64)) loop {
	half := len(list) / 2
	a := over(l.sample, list[:half], o.pass()/2, do)
	b := over(l.sample, list[half:], o.pass()/2, do)
	return loop{l.sample, a.keys + b.keys, func(i int) {
		var wg sync.WaitGroup
		wg.Go(func() { a.pass(i) })
		b.pass(i)
		wg.Wait()
	}}
}

// concurrentTargets returns what we aim at where goroutines share a filter.
func concurrentTargets() []target { return nil }
