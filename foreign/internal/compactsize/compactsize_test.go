package compactsize_test

import (
	"math"
	"testing"

	"github.com/bloomery/bloomery/foreign/internal/compactsize"
)

func TestCut(t *testing.T) {
	for _, n := range []uint64{0, 1, 0xfc, 0xfd, 0xffff, 0x10000, math.MaxUint32, math.MaxUint32 + 1, math.MaxUint64} {
		data := append(compactsize.Append(nil, n), 7)
		got, rest, ok := compactsize.Cut(data)
		if got != n || !ok || len(rest) != 1 || rest[0] != 7 {
			t.Errorf("%d comes back as %d, %v, %v", n, got, rest, ok)
		}
		for i := range len(data) - 1 {
			if _, _, ok := compactsize.Cut(data[:i]); ok {
				t.Errorf("%d: %d bytes are taken", n, i)
			}
		}
	}
	for _, long := range []string{"\xfd\xfc\x00", "\xfe\xff\xff\x00\x00", "\xff\xff\xff\xff\xff\x00\x00\x00\x00"} {
		if n, _, ok := compactsize.Cut([]byte(long)); ok {
			t.Errorf("%x is taken for %d, which has a shorter form", long, n)
		}
	}
}
