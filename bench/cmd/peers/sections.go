package main

import (
	"github.com/bloomery/bloomery/bench/internal/library"
	"github.com/bloomery/bloomery/bench/internal/timing"
)

// section is a number of loops that are compared with each other and take
// turns.
type section struct {
	name  string
	fits  func(mib int) bool
	loops func(o options, mib int) []loop
}

func everySize(int) bool { return true }

// sections is what is timed.
var sections = []section{
	{"hashes", everySize, hashLoops},
	{"8-byte keys", everySize, intLoops},
	{"24-byte keys", everySize, textLoops},
	{"standard", func(mib int) bool { return mib == 1 }, standardLoops},
	{"concurrent", everySize, concurrentLoops},
}

func sectionNames() []string {
	names := make([]string, len(sections))
	for i, s := range sections {
		names[i] = s.name
	}
	return names
}

// contestant is a library with a number of bits per key.
type contestant struct {
	library string
	k       int
	who     string
}

// The contestants by the names that tables give them.
var (
	ours8      = contestant{"bloom.Filter", 8, "bloom.Filter, k = 8"}
	ours6      = contestant{"bloom.Filter", 6, "bloom.Filter, k = 6"}
	split8     = contestant{"bloom.Split", 8, "bloom.Split"}
	standard7  = contestant{"bloom.Standard", 7, "bloom.Standard, k = 7"}
	blobloom8  = contestant{"blobloom", 8, "blobloom, 8 hashes"}
	blobloom9  = contestant{"blobloom", 9, "blobloom, 9 hashes"}
	parquet8   = contestant{"parquet-go", 8, "parquet-go"}
	arrow8     = contestant{"arrow-go", 8, "arrow-go"}
	holiman8   = contestant{"holiman", 8, "holiman, k = 8"}
	ristretto8 = contestant{"ristretto", 8, "ristretto, k = 8"}
	bits8      = contestant{"bits-and-blooms", 8, "bits-and-blooms, k = 8"}
	bits7      = contestant{"bits-and-blooms", 7, "bits-and-blooms, k = 7"}
	boom8      = contestant{"BoomFilters", 8, "BoomFilters, k = 8"}
)

// calls in the order of the tables.
var calls = []library.Call{library.HasBatch, library.HasOne, library.AddBatch, library.AddAnswers, library.AddOne}

// kindsOf returns the kinds of keys that a call is timed with.
func kindsOf(call library.Call) []string {
	if call == library.HasOne || call == library.HasBatch {
		return []string{hits, misses}
	}
	return []string{adds}
}

// loopsOf returns the loops of one contestant over one type of keys, with the
// keys for hits added to its array.
func loopsOf[K any](s sample, o options, p pools[K], do map[library.Call]func([]bool, []K)) []loop {
	do[library.AddOne](nil, p.hits)
	var loops []loop
	for _, call := range calls {
		if do[call] == nil {
			continue
		}
		for _, kind := range kindsOf(call) {
			s.Call, s.Keys = call, kind
			loops = append(loops, over(s, p.of(kind), o.pass(), do[call]))
		}
	}
	return loops
}

// arrays makes the arrays of contestants and fills them at random. Those that
// have no such size are left out.
func arrays(mib int, cs ...contestant) (made []contestant, as []library.Array) {
	for _, c := range cs {
		a, ok := library.Named(c.library).Array(mib<<20, c.k)
		if !ok {
			continue
		}
		randomize(a.Words)
		made, as = append(made, c), append(as, a)
	}
	return made, as
}

func hashLoops(o options, mib int) []loop {
	p := newPools(o, mib<<20, timing.Scramble)
	cs, as := arrays(mib, ours8, ours6, split8, blobloom8, blobloom9, parquet8, arrow8, holiman8, ristretto8)
	var loops []loop
	for i, c := range cs {
		loops = append(loops, loopsOf(sample{Section: "hashes", Who: c.who, MiB: mib}, o, p, as[i].Hashes)...)
	}
	return append(loops, floorLoops(o, mib, p, as[0].Words)...)
}

func intLoops(o options, mib int) []loop {
	p := newPools(o, mib<<20, timing.Scramble)
	cs, as := arrays(mib, ours8, blobloom8, parquet8, bits8, boom8)
	var loops []loop
	for i, c := range cs {
		loops = append(loops, loopsOf(sample{Section: "8-byte keys", Who: c.who, MiB: mib}, o, p, as[i].Ints)...)
	}
	return loops
}

func textLoops(o options, mib int) []loop {
	p := newPools(o, mib<<20, text(24))
	cs, as := arrays(mib, ours8, blobloom8, parquet8, bits8, boom8)
	var loops []loop
	for i, c := range cs {
		loops = append(loops, loopsOf(sample{Section: "24-byte keys", Who: c.who, MiB: mib}, o, p, as[i].Keys)...)
	}
	return loops
}

func standardLoops(o options, mib int) []loop {
	p := newPools(o, mib<<20, text(8))
	cs, as := arrays(mib, standard7, bits7)
	var loops []loop
	for i, c := range cs {
		loops = append(loops, loopsOf(sample{Section: "standard", Who: c.who, MiB: mib}, o, p, as[i].Keys)...)
	}
	return loops
}
