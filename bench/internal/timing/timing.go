// Package timing runs loops in turns, so that what disturbs a machine disturbs
// all of them, and keeps the fastest time of each.
package timing

import (
	"math"
	"runtime"
	"runtime/debug"
)

// Batch is how many keys a call of a loop gets.
const Batch = 4096

// Loop is one loop that is timed.
type Loop struct {
	Keys int         // of one pass
	Pass func(i int) // runs the loop over part i of its keys
	// Litter means that a pass leaves much behind; it is swept up after it, off
	// the clock.
	Litter bool
	// Parallel means that a pass runs on several processors, so that the time
	// that passes counts, whatever the clock.
	Parallel bool
}

// Over returns a loop over a list of keys. Passes take turns on parts of the
// list, so that the lines which a pass touched have left the cache when its
// keys come again; a list that is shorter than a pass is gone through several
// times.
func Over[K any](list []K, pass int, do func(dst []bool, keys []K)) Loop {
	part := min(pass, len(list))
	parts := len(list) / part
	repeat := max(1, pass/part)
	dst := make([]bool, Batch)
	return Loop{Keys: part * repeat, Pass: func(i int) {
		keys := list[i%parts*part:][:part]
		for range repeat {
			for at := 0; at < part; at += Batch {
				group := keys[at:min(at+Batch, part)]
				do(dst[:len(group)], group)
			}
		}
	}}
}

// Interleave runs every loop once per round and returns the fastest time of
// each by the clock, in nanoseconds per key. If warm is set, each pass is run
// once before it is timed. The garbage collector rests meanwhile.
func Interleave(loops []Loop, rounds int, warm bool, clock Clock) []float64 {
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // not while the clock runs
	best := make([]float64, len(loops))
	for i := range best {
		best[i] = math.Inf(1)
	}
	for round := range rounds {
		for i, l := range loops {
			part := round*len(loops) + i
			if warm {
				l.Pass(part)
			}
			now := clock
			if l.Parallel {
				now = Wall
			}
			start := now()
			l.Pass(part)
			best[i] = min(best[i], float64((now()-start).Nanoseconds())/float64(l.Keys))
			if l.Litter {
				runtime.GC()
			}
		}
	}
	return best
}

// Scramble is a bijection that leaves no order in its results (SplitMix64).
func Scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
