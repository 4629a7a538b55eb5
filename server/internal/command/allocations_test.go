package command_test

import (
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
	"github.com/bloomery/bloomery/server/internal/engine"
)

func TestHotPathDoesNotAllocate(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Line("BF.RESERVE b 0.01 100000")
	b.Line("CF.RESERVE c 100000")
	b.Line("CF.RESERVE d 100000")
	b.Line("FILTER.CREATE f bloom CAPACITY 100000")
	b.Line("FILTER.CREATE g quotient CAPACITY 100000")
	b.Line("FILTER.CREATE p bloom CAPACITY 100000 PARTS 4")
	b.Line("FILTER.CREATE r bloom CAPACITY 100000 PARTS 4")
	b.Line("FILTER.REBUILD r BEGIN")
	t.Run("user=default", func(t *testing.T) { hotPath(t, b) })
	b.Line("ACL SETUSER bob on >pw +@all -@dangerous %R~x* ~[a-z] addrate=1000000000")
	b.Login(t, "bob")
	t.Run("user=bob", func(t *testing.T) { hotPath(t, b) })
}

func hotPath(t *testing.T, b *commandtest.Bench) {
	for _, cmd := range []string{
		"FILTER.HAS f item", "FILTER.ADD f item", "FILTER.HAS f x y z", "FILTER.HAS g item", "FILTER.ADD g item", "FILTER.DEL g item", "FILTER.HAS p item",
		"BF.EXISTS b item", "BF.ADD b item", "CF.EXISTS c item", "CF.ADD c item", "CF.ADD d item;CF.DEL d item", "BF.MEXISTS b x y z", "PING",
		"FILTER.REBUILD r FEED item", "FILTER.REBUILD r FEED x y z",
	} {
		var calls [][][]byte
		for call := range strings.SplitSeq(cmd, ";") {
			var args [][]byte
			for w := range strings.FieldsSeq(call) {
				args = append(args, []byte(w))
			}
			calls = append(calls, args)
		}
		var w engine.Workspace
		run := func() {
			w.Reset()
			for i := range 16 {
				w.Add(calls[i%len(calls)])
			}
			b.Engine.Exec(b.Session, &w, 0)
		}
		run()
		if got := testing.AllocsPerRun(200, run); got > 0.5 && !underRace {
			t.Errorf("16 calls of %s: %v allocations, want 0", cmd, got)
		}
	}
}
