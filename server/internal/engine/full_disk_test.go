package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server/internal/command"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/session"
	"github.com/bloomery/bloomery/server/internal/store"
)

// fillsUp is a door whose log cannot be written any more from the first record of a string on.
type fillsUp struct{ *testDoor }

// Do implements door.Door.
func (d fillsUp) Do(ops []*door.Op) {
	d.testDoor.Do(ops)
	if ops[0].Record.Op() == store.OpSet {
		d.refuses = errors.New("no space left on device")
		d.unsynced = d.refuses
	}
}

// TestDiskFillsUpInATransaction has the log refuse records in the middle of a transaction: all of it is done, as it is
// all or nothing that comes back. One that begins when the log refuses them does nothing. What was queued with them
// is not called a write that was done.
func TestDiskFillsUpInATransaction(t *testing.T) {
	b := newBench(t, 1<<30)
	b.engine = engine.New(engine.Config{
		Commands: command.All(), State: b.state, Door: fillsUp{b.door}, Keeper: b.door.Door, Host: b, MaxMemory: 1 << 30,
		Clock: b.clock, Settings: session.NewSettings(session.RedisBloomDefaults(), ""),
	})
	b.line("FILTER.CREATE f bloom CAPACITY 1000")
	lines := []string{"MULTI"}
	for i := range 5 {
		lines = append(lines, fmt.Sprint("SET k", i, " x"))
	}
	got := b.lines(append(lines, "FILTER.ADD f t", "EXEC")...)
	for i, want := range []string{"+OK", "+QUEUED", "+QUEUED", "+QUEUED", "+QUEUED", "+QUEUED", "+QUEUED", "-MISCONF The write was done in memory"} {
		if !strings.HasPrefix(got[i], want) {
			t.Errorf("reply %d: %s, want %s", i, got[i], want)
		}
	}
	if got := fmt.Sprint(b.lines("EXISTS k0 k1 k2 k3 k4", "FILTER.HAS f t")); got != "[:5 [true]]" {
		t.Errorf("of a transaction in which the disk filled up is there: %s", got)
	}
	b.door.refuses = nil
	b.lines("MULTI", "SET later x", "FILTER.ADD f later")
	b.door.refuses = errors.New("no space left on device")
	if got := b.lines("EXEC", "EXISTS later", "FILTER.HAS f later"); !strings.HasPrefix(got[0], "-MISCONF Writes are refused") || got[1] != ":0" || got[2] != "[false]" {
		t.Errorf("a transaction while the log refuses records: %s", got)
	}
	if got := b.lines("MULTI", "EXISTS k0", "EXEC"); got[2] != "[:1]" {
		t.Errorf("one that only reads: %s", got)
	}
}
