package topk_test

import (
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
)

// TestSmallTopKComesBackFromDump restores a sketch whose slots are less than one piece.
// Where RedisBloom has pointers, a dump has zeros.
func TestSmallTopKComesBackFromDump(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Script(t, `
		TOPK.RESERVE k 3 50 4 0.9 -> +OK
		TOPK.ADD k a a b -> [nil nil nil]`)
	dump := b.Exec(commandtest.Bytes([]string{"DUMP", "k"}))[0].Text
	if slot := "\x01\x00\x00\x00" + strings.Repeat("\x00", 8) + "\x02" + strings.Repeat("\x00", 7); !strings.Contains(dump, slot) {
		t.Errorf("no slot with an item of one byte, no pointer and a count of 2 in %q", dump)
	}
	if got := b.Do("RESTORE", "again", "0", dump); got != "+OK" {
		t.Fatalf("RESTORE = %s", got)
	}
	b.Script(t, `
		TOPK.LIST again WITHCOUNT -> ["a" :2 "b" :1]
		TOPK.QUERY again a b c -> [:1 :1 :0]
		TOPK.ADD again a -> [nil]
		TOPK.LIST again WITHCOUNT -> ["a" :3 "b" :1]`) // an item is found by its fingerprint
}
