package engine_test

import (
	"strings"
	"testing"
)

// TestPiecesAreCalledPieces asks that commands which write something long say so of every piece, that the log
// has room for others, and that no other command does.
func TestPiecesAreCalledPieces(t *testing.T) {
	b := newBench(t, 1<<30)
	b.lines("FILTER.CREATE f bloom CAPACITY 1000000", "BF.RESERVE b 0.01 1000000", "CMS.INITBYDIM s 100000 5", "CMS.INITBYDIM sum 100000 5")
	dump := b.exec([][]byte{[]byte("DUMP"), []byte("b")})[0].Text
	const large = 1_000_000 * 9 / 8 / (256 << 10) // pieces of f, and of b
	for _, tt := range []struct {
		line   string
		pieces int64 // at least
		last   []string
	}{
		{line: "SET string v"},
		{line: "FILTER.ADD f x"},
		{line: "BF.MADD b x y"},
		{line: "CMS.INCRBY s x 1"},
		{line: "BF.RESERVE new 0.01 1000000"},
		{line: "FILTER.CREATE made bloom CAPACITY 1000000"},
		{line: "COPY f copy", pieces: large},
		{line: "RESTORE again 0", pieces: large, last: []string{dump}},
		{line: "CMS.MERGE sum 1 s", pieces: 1},
		{line: "FILTER.UNION both f copy", pieces: 1},
	} {
		b.door.pieces.Store(0)
		got := b.do(append(strings.Fields(tt.line), tt.last...)...)
		if n := b.door.pieces.Load(); strings.HasPrefix(got, "-") || n < tt.pieces || tt.pieces == 0 && n > 0 {
			t.Errorf("%s: %d pieces, want %d; %s", tt.line, n, tt.pieces, got)
		}
	}
}
