// Package dedupe drops duplicate lines in one pass and in their order, within a
// bound of memory.
//
//	exact := &dedupe.Exact{Memory: 44 << 20, Seed: rand.Uint64()}
//	defer exact.Close()
//	job := dedupe.Job{Input: lines.Input{Files: files}, Out: os.Stdout, Exact: exact}
//	sum, err := job.Run(ctx)
//	fmt.Println(sum.In, sum.Out, sum.Late) // lines in, out, and out at the end
//
// There are two memories. [Exact] loses no line: it keeps hashes of 85 bits,
// 11 to 13 bytes each, or the lines themselves, and writes lines that it cannot decide to
// a temporary folder when memory is full, in parts that fit one after the other;
// those that are new come at the end. [Seen] is for streams without end: it
// keeps 64-bit hashes while they fit, 10 bytes each, and goes over to a Bloom
// filter beyond, in the same array; it takes some new lines for old ones, and
// counts how many must be expected.
//
// One goroutine reads, others split and hash, and the caller's goroutine asks
// the memory and writes, in the order of the input:
//
//	reader ─► workers: split, find keys, hash ─► [hashes] ─► memory ─► output
//
// Lines that are wanted are moved together inside their block and written with
// one call, so that a line is copied once and a slow pipe sees it at once.
package dedupe
