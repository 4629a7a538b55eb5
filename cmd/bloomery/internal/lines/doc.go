// Package lines reads lines, or records that end with NUL, from files and
// standard input: of any length, of any bytes, plain or compressed by gzip, zstd
// or bzip2, which their first bytes show. Lines are text, which may end with CR LF,
// unless they are to be raw.
//
//	in := lines.Input{Files: []string{"a.txt", "b.txt.gz"}}
//	err := lines.Process(ctx, &in, 2, hash, print)
//
// Records are handed out in batches: slices into one block of the input, which
// nobody copies. One goroutine reads ahead, several work on batches, and the
// caller gets the batches in the order of the input:
//
//	files ─► reader ─► [block] ─► worker: split, hash ─┐
//	           ▲         [block] ─► worker: split, hash ─┴─► emit, in order
//	           └──────────────────── free blocks ◄──────────────┘
//
// Blocks go round, so memory stays at a few of them, whatever the input, until
// a single record is longer than a block.
package lines
