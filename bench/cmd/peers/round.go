package main

import (
	"math"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/bloomery/bloomery/bench/internal/library"
)

const (
	// batch is how many keys a call of a loop gets.
	batch = 4096
	// small is the size up to which an array is brought into the cache before
	// it is timed. Larger ones do not stay there anyway.
	small = 16
)

// sample is the time of one loop.
type sample struct {
	Section string
	Who     string       // the library and how it was made
	Call    library.Call // what was done
	Keys    string       // what kind of keys it was done to
	MiB     int
	NS      float64 // per key, the fastest round
}

// The kinds of keys.
const (
	hits   = "hits"
	misses = "misses"
	adds   = "adds"
)

// loop is one loop that is timed: pass(i) runs it over part i of its keys.
type loop struct {
	sample
	keys int // of one pass
	pass func(i int)
}

// over returns a loop over a list of keys. Passes take turns on parts of the
// list, so that the lines which a pass touched have left the cache when its
// keys come again; a list that is shorter than a pass is gone through several
// times.
func over[K any](s sample, list []K, pass int, do func(dst []bool, keys []K)) loop {
	part := min(pass, len(list))
	parts := len(list) / part
	repeat := max(1, pass/part)
	dst := make([]bool, batch)
	return loop{s, part * repeat, func(i int) {
		keys := list[i%parts*part:][:part]
		for range repeat {
			for at := 0; at < part; at += batch {
				group := keys[at:min(at+batch, part)]
				do(dst[:len(group)], group)
			}
		}
	}}
}

// timed runs one section at one size.
func timed(o options, s section, mib int) []sample {
	loops := s.loops(o, mib)
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // not while the clock runs
	return interleave(loops, o.rounds, mib <= small)
}

// interleave runs every loop once per round and keeps the fastest time.
func interleave(loops []loop, rounds int, warm bool) []sample {
	samples := make([]sample, len(loops))
	for i, l := range loops {
		samples[i] = l.sample
		samples[i].NS = math.Inf(1)
	}
	for round := range rounds {
		for i, l := range loops {
			part := round*len(loops) + i
			if warm {
				l.pass(part)
			}
			start := time.Now()
			l.pass(part)
			ns := float64(time.Since(start).Nanoseconds()) / float64(l.keys)
			samples[i].NS = min(samples[i].NS, ns)
		}
	}
	return samples
}
