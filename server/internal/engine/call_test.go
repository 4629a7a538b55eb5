package engine

import (
	"testing"
	"unsafe"
)

// TestSizesThatCount asks that what a queued command counts for is not less than
// what EXEC will take for it.
func TestSizesThatCount(t *testing.T) {
	if got := unsafe.Sizeof(Call{}); got > callBytes {
		t.Errorf("a Call takes %d bytes and counts for %d", got, callBytes)
	}
	if got := unsafe.Sizeof(Reply{}); got > ReplyBytes {
		t.Errorf("a Reply takes %d bytes and counts for %d", got, ReplyBytes)
	}
}
