// Command gen writes the assembly of package kernel, one file per run:
//
//	go run . -file avx512 -out ../avx512_amd64.s -stubs ../avx512_amd64.go -pkg kernel
//
// It is a module of its own, so that its libraries are no dependency of
// bloomery. Read them in this order:
//
//	key.go                      what is computed for a key, by scalar code
//	avx512.go, avx2.go          how a block is tested and changed
//	single.go                   the functions for one key
//	loop.go                     the functions for a batch, in two stages
//	avx512plan.go, avx2plan.go  the first stage: key.go for 8 keys at once
//	                            (and findAll, over the lines of several filters)
//	split.go                    the split layout, on AVX2
//	rows.go                     the rows of a sliced filter, on AVX2
//	buckets.go                  the buckets of a cuckoo filter, on AVX-512
//	ahead.go                    slots, bits and bytes, asked for ahead
//	marks.go                    the places of a byte, on AVX2
//
// The code keeps to four rules. No branch depends on a key or on a bit: a
// branch that cannot be foretold costs more than a whole probe. No legacy SSE
// instruction stands between vector instructions, and VZEROUPPER stands before
// every RET: mixing the two encodings costs up to 350 ns. Every instruction is
// covered by the features that tier_amd64.go asks for. Nothing is read outside
// of blocks, hs and the tables, however long the lookahead.
package main

import (
	"flag"
	"log"

	. "github.com/mmcloughlin/avo/build"
)

func main() {
	file := flag.String("file", "", "avx512 or avx2 for the batches of a tier, generations, single for single keys, split, rows, buckets, ahead, marks")
	flag.Parse()
	ConstraintExpr("!purego,!race")
	switch *file {
	case "avx512":
		constants()
		batches(newAVX512())
	case "avx2":
		constants()
		batches(newAVX2())
	case "generations":
		constants()
		batch(newAVX512(), findAll)
		batch(newAVX2(), findAll)
		splitBatch(newSplit(), splitFind)
	case "single":
		constants()
		tiers := []tier{newAVX512(), newAVX2()}
		single(tiers, has, "goHas")
		single(tiers, set, "goSet")
	case "split":
		splits(newSplit())
	case "rows":
		andRows()
	case "buckets":
		hasBuckets("hasBucketsAVX512", false)
		hasBuckets("hasWideBucketsAVX512", true)
	case "ahead":
		ahead(18, 0)
		ahead(30, 15, 0)
		aheadBits()
		aheadAt()
	case "marks":
		marks()
	default:
		log.Fatalf("gen: no file %q", *file)
	}
	Generate()
}

func batches(t tier) {
	for _, o := range []op{hasAll, setAll, setAllFresh, markAll} {
		batch(t, o)
	}
}

func splits(t *split) {
	for _, o := range splitOps {
		splitBatch(t, o)
	}
	splitSingle(t, splitHas, "goHasSplit")
	splitSingle(t, splitSet, "goSetSplit")
}
