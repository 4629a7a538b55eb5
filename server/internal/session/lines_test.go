package session

import (
	"testing"
	"unsafe"
)

// TestSlotsDoNotShareCacheLines asks that what clients of different slots count
// is never on the same cache line: else
// every command would take it from another processor.
func TestSlotsDoNotShareCacheLines(t *testing.T) {
	const line = 64
	c := NewCounters(300)
	owner := map[uintptr]int{}
	claim := func(slot int, what string, p unsafe.Pointer, size uintptr) {
		t.Helper()
		for at := uintptr(p) / line; at <= (uintptr(p)+size-1)/line; at++ {
			if other, taken := owner[at]; taken && other != slot {
				t.Errorf("%s of slot %d is on a cache line of slot %d", what, slot, other)
			}
			owner[at] = slot
		}
	}
	for i := range c.slots {
		s := &c.slots[i]
		claim(i, "hits", unsafe.Pointer(&s.hits), unsafe.Sizeof(s.hits))
		claim(i, "misses", unsafe.Pointer(&s.misses), unsafe.Sizeof(s.misses))
		claim(i, "commands", unsafe.Pointer(&s.commands[0]), uintptr(len(s.commands))*unsafe.Sizeof(Counter{}))
	}
}
