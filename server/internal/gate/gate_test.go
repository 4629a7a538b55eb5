package gate

import (
	"testing"
	"unsafe"
)

// TestSlotsDoNotShareCacheLines asks that locks of different slots of the gate are never
// on the same cache line: else every command would take it from another processor.
func TestSlotsDoNotShareCacheLines(t *testing.T) {
	const line = 64
	var g Gate
	if apart := unsafe.Sizeof(g.slots[0]) - unsafe.Sizeof(g.slots[0].RWMutex); apart < line {
		t.Errorf("two locks of the gate are %d bytes apart", apart)
	}
}
