package memory

import "testing"

func TestLimit(t *testing.T) {
	if got := Limit(); got < 64<<20 {
		t.Errorf("Limit() = %d, want at least 64 MiB", got)
	}
}

func TestWordsAreZeroAndAligned(t *testing.T) {
	for _, n := range []int{0, 1, 8, 9, 64, 104, 1000, 1 << 19, 1<<19 + 8, 1 << 21} {
		w := Words(n)
		if len(w) != n {
			t.Fatalf("len(Words(%d)) = %d", n, len(w))
		}
		if n >= 8 && offset(w) != 0 {
			t.Errorf("Words(%d) begins %d bytes after a cache line", n, offset(w))
		}
		for i, x := range w {
			if x != 0 {
				t.Fatalf("Words(%d)[%d] = %#x, want 0", n, i, x)
			}
		}
	}
}

// TestWordsOfEverySize keeps many small arrays, so that the heap places them at
// all offsets that it has.
func TestWordsOfEverySize(t *testing.T) {
	var kept [][]uint64
	for n := 8; n < 130; n++ {
		for range 20 {
			w := Words(n)
			if len(w) != n || offset(w) != 0 {
				t.Fatalf("Words(%d): %d words that begin %d bytes after a cache line", n, len(w), offset(w))
			}
			for i := range w {
				w[i] = uint64(len(kept))
			}
			kept = append(kept, w)
		}
	}
	for i, w := range kept {
		for _, x := range w {
			if x != uint64(i) {
				t.Fatalf("array %d holds a word of array %d", i, x)
			}
		}
	}
}

// TestBytesTakeWholeWords asks for room up to the next word, and no more.
func TestBytesTakeWholeWords(t *testing.T) {
	for n, want := range map[int]int{0: 0, 1: 8, 7: 8, 8: 8, 9: 16, 100: 104, 4096: 4096} {
		if b := Bytes(n); len(b) != n || cap(b) != want {
			t.Errorf("Bytes(%d): len %d, cap %d, want cap %d", n, len(b), cap(b), want)
		}
	}
}

// TestAlignMovesWhatIsNotAligned begins at every word of a line, more offsets than
// the allocator has.
func TestAlignMovesWhatIsNotAligned(t *testing.T) {
	base := Words(64)
	for i := range 8 {
		w := align(base[i:i+32], 32)
		if len(w) != 32 || cap(w) != 32 && i > 0 || offset(w) != 0 {
			t.Errorf("from word %d: len %d, cap %d, %d bytes after a line", i, len(w), cap(w), offset(w))
		}
	}
}

// Pieces of all sizes are zero, aligned and do not overlap, whether or not the
// pages around them are advised.
func TestPiece(t *testing.T) {
	var all [][]byte
	for round := range 3 {
		for _, n := range []int{0, 1, 100, pieceFrom - 1, pieceFrom, 20_000, 1 << 20, hugeFrom} {
			b := Piece(n)
			if len(b) != n {
				t.Fatalf("len(Piece(%d)) = %d", n, len(b))
			}
			for i, x := range b {
				if x != 0 {
					t.Fatalf("Piece(%d)[%d] = %#x, want 0", n, i, x)
				}
				b[i] = byte(round + 1)
			}
			all = append(all, b)
		}
	}
	for i, b := range all {
		for _, x := range b {
			if x != byte(i/8+1) {
				t.Fatalf("piece %d holds %d, want %d", i, x, i/8+1)
			}
		}
	}
}
