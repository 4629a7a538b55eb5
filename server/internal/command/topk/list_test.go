package topk_test

import (
	"testing"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
)

// TestItemOfAZeroByte lists an item that begins with a zero byte: as RedisBloom does,
// nothing of it is shown.
func TestItemOfAZeroByte(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Line("TOPK.RESERVE k 1")
	if got := b.Do("TOPK.ADD", "k", "\x00tail"); got != "[nil]" {
		t.Errorf("TOPK.ADD = %s", got)
	}
	b.Script(t, `TOPK.LIST k -> [""]`)
}

// TestTopKListNeedsMemory asks for a list that does not fit into the memory that is
// left.
func TestTopKListNeedsMemory(t *testing.T) {
	b := commandtest.New(t, 600<<10)
	b.Script(t, `
		TOPK.RESERVE k 5000 8 2 0.9 -> +OK
		TOPK.LIST k -> -OOM command not allowed when used memory > 'maxmemory'.
		TOPK.QUERY k a -> [:0]`)
}
