package main

import (
	"sync"

	"github.com/bloomery/bloomery/bench/internal/library"
	"github.com/bloomery/bloomery/bench/internal/timing"
)

// The contestants that many goroutines may use at once.
var (
	concurrent8 = contestant{"bloom.Concurrent", 8, "bloom.Concurrent, k = 8"}
	sync8       = contestant{"blobloom.SyncFilter", 8, "blobloom.SyncFilter, 8 hashes"}
)

// alone and together say how many goroutines share a filter.
const (
	alone    = ", 1 goroutine"
	together = ", 2 goroutines"
)

// concurrentLoops times shared filters with one goroutine and with two that
// share the keys of a pass, and the plain filter beside them.
func concurrentLoops(o options, mib int) []loop {
	p := newPools(o, mib<<20, timing.Scramble)
	cs, as := arrays(mib, ours8, concurrent8, sync8)
	s := sample{Section: "concurrent", Who: ours8.who, MiB: mib}
	loops := loopsOf(s, o, p, as[0].Hashes)
	for i, c := range cs[1:] {
		do := as[i+1].Hashes
		s.Who = c.who + alone
		loops = append(loops, loopsOf(s, o, p, do)...)
		s.Who = c.who + together
		for _, l := range loopsOf(s, o, p, do) {
			loops = append(loops, inTwo(l, o, p.of(l.Keys), do[l.Call]))
		}
	}
	return loops
}

// inTwo returns l with its passes split between two goroutines, each with
// batches of its own.
func inTwo(l loop, o options, list []uint64, do func([]bool, []uint64)) loop {
	half := len(list) / 2
	a := over(l.sample, list[:half], o.pass()/2, do)
	b := over(l.sample, list[half:], o.pass()/2, do)
	return loop{l.sample, timing.Loop{Keys: a.run.Keys + b.run.Keys, Pass: func(i int) {
		var wg sync.WaitGroup
		wg.Go(func() { a.run.Pass(i) })
		b.run.Pass(i)
		wg.Wait()
	}}}
}

// The comparisons of filters that goroutines share.
var (
	sharing = comparison{
		section: "concurrent",
		title:   "Concurrent.AddHashes over Filter.AddHashes, one goroutine",
		ours:    side{concurrent8.who + alone, library.AddBatch},
		theirs:  side{ours8.who, library.AddBatch},
		keys:    adds,
		cost:    true,
	}
	scaling = comparison{
		section: "concurrent",
		title:   "Concurrent.AddHashes, two goroutines against one",
		ours:    side{concurrent8.who + together, library.AddBatch},
		theirs:  side{concurrent8.who + alone, library.AddBatch},
		keys:    adds,
	}
	keyByKey = comparison{
		section: "concurrent",
		title:   "Concurrent.AddHash against blobloom's SyncFilter, one goroutine",
		ours:    side{concurrent8.who + alone, library.AddOne},
		theirs:  side{sync8.who + alone, library.AddOne},
		keys:    adds,
	}
	keyByKeyTogether = comparison{
		section: "concurrent",
		title:   "Concurrent.AddHash against blobloom's SyncFilter, two goroutines",
		ours:    side{concurrent8.who + together, library.AddOne},
		theirs:  side{sync8.who + together, library.AddOne},
		keys:    adds,
	}
)

// concurrentTargets returns what we aim at where goroutines share a filter.
func concurrentTargets() []target {
	return []target{
		{sharing, []int{16}, vector(2.5, 2.5)},
		{sharing, []int{256, 1024}, vector(2, 2)},
		{scaling, []int{16, 256, 1024}, vector(1.5, 1.5)},
		{keyByKey, []int{1, 16, 256, 1024}, vector(1.5, 1.5)},
		{keyByKeyTogether, []int{1, 16, 256, 1024}, vector(1.5, 1.5)},
	}
}
