// Package dedupe drops the lines that were there before, in one pass and in
// their order, within a bound of memory.
//
//	seen, err := dedupe.Config{Memory: 44 << 20, ErrorRate: 1e-6}.New()
//	job := dedupe.Job{Input: lines.Input{Files: files}, Out: os.Stdout, Seen: seen}
//	sum, err := job.Run(ctx)
//	fmt.Println(sum.In, sum.Out, seen.Wrong()) // lines in, out, expected mistakes
//
// There are two memories. [Seen] keeps 64-bit hashes while they fit, 10 bytes
// each, and goes over to a Bloom filter beyond, in the same array; both can take
// a new line for an old one, and Seen counts how often that must be expected.
// [Exact] keeps the lines themselves and writes those that do not fit to a
// temporary folder, in parts that fit one after the other; it never errs and
// writes most of its output at the end.
//
// One goroutine reads, others split and hash, and the caller's goroutine asks
// the memory and writes, in the order of the input:
//
//	reader ─► workers: split, find keys, hash ─► [hashes] ─► memory ─► output
//
// Lines that are wanted are moved together inside their block and written with
// one call, so that a line is copied once and a slow pipe sees it at once.
package dedupe
