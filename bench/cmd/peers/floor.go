package main

import (
	"math/bits"

	"github.com/bloomery/bloomery/bench/internal/library"
	"github.com/bloomery/bloomery/internal/kernel"
)

// The floor is what memory alone costs: one word of one random line of 64
// bytes per key, and nothing done with it. Go has no prefetch; reads that do
// not depend on each other overlap all the same. The kernels do prefetch, so
// that their lookup of a single bit is a candidate, too. Three loops are
// timed, and the fastest counts.
const (
	floor                    = "floor"
	floorPlain  library.Call = "read a line, plain loop"
	floorGroups library.Call = "read a line, groups of 16"
	floorKernel library.Call = "test one bit of a line, our kernel"
)

func floorLoops(o options, mib int, p pools[uint64], words []uint64) []loop {
	s := sample{Section: "hashes", Who: floor, Keys: misses, MiB: mib}
	blocks := kernel.Blocks(words)
	var loops []loop
	for _, l := range []struct {
		call library.Call
		do   func(dst []bool, hs []uint64)
	}{
		{floorPlain, func(dst []bool, hs []uint64) { dst[0] = readLines(words, hs) == 0 }},
		{floorGroups, func(dst []bool, hs []uint64) { dst[0] = readGroups(words, hs) == 0 }},
		{floorKernel, func(dst []bool, hs []uint64) { kernel.HasAll(dst, blocks, 1, hs) }},
	} {
		s.Call = l.call
		loops = append(loops, over(s, p.misses, o.pass(), l.do))
	}
	return loops
}

// readLines reads a word of each line that hs points to and returns their sum,
// so that no read can be left out.
func readLines(words, hs []uint64) (sum uint64) {
	n := uint64(len(words) / 8)
	for _, h := range hs {
		line, _ := bits.Mul64(h, n)
		sum += words[line*8]
	}
	return sum
}

// readGroups computes 16 addresses before it reads from the first.
func readGroups(words, hs []uint64) (sum uint64) {
	n := uint64(len(words) / 8)
	var at [16]uint64
	for ; len(hs) >= len(at); hs = hs[len(at):] {
		for i, h := range (*[16]uint64)(hs) {
			line, _ := bits.Mul64(h, n)
			at[i] = line * 8
		}
		for _, i := range at {
			sum += words[i]
		}
	}
	return sum + readLines(words, hs)
}
