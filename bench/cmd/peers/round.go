package main

import (
	"github.com/bloomery/bloomery/bench/internal/library"
	"github.com/bloomery/bloomery/bench/internal/timing"
)

// small is the size up to which an array is brought into the cache before it is
// timed. Larger ones do not stay there anyway.
const small = 16

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

// loop is one loop that is timed.
type loop struct {
	sample
	run timing.Loop
}

// over returns a loop over a list of keys.
func over[K any](s sample, list []K, pass int, do func(dst []bool, keys []K)) loop {
	return loop{s, timing.Over(list, pass, do)}
}

// timed runs one section at one size.
func timed(o options, s section, mib int) []sample {
	loops := s.loops(o, mib)
	bare := make([]timing.Loop, len(loops))
	samples := make([]sample, len(loops))
	for i, l := range loops {
		bare[i], samples[i] = l.run, l.sample
	}
	for i, ns := range timing.Interleave(bare, o.rounds, mib <= small, timing.Wall) {
		samples[i].NS = ns
	}
	return samples
}
