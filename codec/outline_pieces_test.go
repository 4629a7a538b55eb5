package codec

import (
	"reflect"
	"testing"

	"github.com/bloomery/bloomery/bloom"
)

// TestOutlineOfPieces writes an encoding to an outline in pieces of every length: it
// takes all of each, and keeps the same words.
func TestOutlineOfPieces(t *testing.T) {
	f, err := bloom.Config{Capacity: 50, ErrorRate: 0.01}.New()
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(5) {
		f.AddHash(i << 40)
	}
	data, err := f.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var whole sketcher
	if n, err := whole.Write(data); n != len(data) || err != nil {
		t.Fatalf("%d of %d bytes taken: %v", n, len(data), err)
	}
	if len(whole.words) == 0 {
		t.Fatal("no words")
	}
	for size := 1; size < len(data); size++ {
		var s sketcher
		for rest := data; len(rest) > 0; {
			piece := rest[:min(size, len(rest))]
			if n, err := s.Write(piece); n != len(piece) || err != nil {
				t.Fatalf("pieces of %d: %d of %d bytes taken: %v", size, n, len(piece), err)
			}
			rest = rest[len(piece):]
		}
		if !reflect.DeepEqual(s.head, whole.head) || !reflect.DeepEqual(s.words, whole.words) || s.index != whole.index {
			t.Fatalf("pieces of %d: %d words, want %d", size, len(s.words), len(whole.words))
		}
	}
}
