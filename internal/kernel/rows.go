package kernel

// MaxRow is the number of words in the longest row of AndRows.
const MaxRow = 16

// quad is the number of words that the assembly takes together.
const quad = 4

// AndRows clears the bits of dst that are clear in one of the rows at[0],
// at[1], and so on. Row i is rows[i*len(dst):(i+1)*len(dst)], and must be
// there: only the Go code checks that. It panics if dst is empty, or longer
// than MaxRow.
func AndRows(dst, rows []uint64, at []uint64) {
	if uint(len(dst)-1) >= MaxRow {
		panic(badRow)
	}
	if (hasAVX512 || hasAVX2) && len(dst)%quad == 0 && len(at) > 0 {
		andRowsVector(dst, rows, at)
		return
	}
	goAndRows(dst, rows, at)
}

// goAndRows is AndRows in Go.
func goAndRows(dst, rows []uint64, at []uint64) {
	n := uint64(len(dst))
	for _, i := range at {
		row := rows[i*n:][:len(dst)]
		for j, w := range row {
			dst[j] &= w
		}
	}
}
