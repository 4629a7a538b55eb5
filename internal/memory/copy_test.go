package memory

import (
	"bytes"
	"testing"
)

// TestCopyPauses asks that all bytes are copied, and that no more than a step is between two pauses.
func TestCopyPauses(t *testing.T) {
	for _, n := range []int{0, 1, copyStep, copyStep + 1, 5*copyStep - 1} {
		src, dst := make([]byte, n), make([]byte, n+1)
		for i := range src {
			src[i] = byte(i*7>>3) | 1
		}
		copied := func() int { return n - bytes.Count(dst[:n], []byte{0}) }
		before, most := 0, 0
		copySteps(dst, src, func() { most, before = max(most, copied()-before), copied() })
		if most = max(most, copied()-before); !bytes.Equal(dst[:n], src) || dst[n] != 0 || most > copyStep {
			t.Errorf("%d bytes: %d are copied, %d without a pause", n, copied(), most)
		}
	}
}
