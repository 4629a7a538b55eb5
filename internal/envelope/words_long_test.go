package envelope

import (
	"slices"
	"testing"
)

// TestLongWords reads words of sizes about those of the pieces in which they are copied.
func TestLongWords(t *testing.T) {
	for _, n := range []int{0, 1, pieceBytes/8 - 1, pieceBytes / 8, pieceBytes/8 + 1, 3 * pieceBytes / 8, 3*pieceBytes/8 + 1} {
		want := make([]uint64, n)
		for i := range want {
			want[i] = uint64(i)*0x9e3779b97f4a7c15 + 1
		}
		got := make([]uint64, n)
		if GetWords(got, BytesOf(want)); !slices.Equal(got, want) {
			t.Errorf("%d words: not what they were", n)
		}
	}
}
