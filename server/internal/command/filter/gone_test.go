package filter_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
)

// gone returns what FILTER.INFO shows of deleted items.
func (b *bench) gone(t *testing.T, key string) string {
	t.Helper()
	return b.field(t, key, "gone")
}

// TestGone reports deleted items: they are counted if the filter has them, and at 30% of all the
// verdict is Rebuild.
func TestGone(t *testing.T) {
	for _, kind := range []string{"bloom", "standard PARTS 4", "scalable"} {
		b := newBench(t, 1<<30)
		b.OK(t, "FILTER.CREATE f "+kind+" CAPACITY 10000 ERROR 0.0001")
		items := func(command string, from, to int) string {
			var words []string
			for i := from; i < to; i++ {
				words = append(words, fmt.Sprint("item", i))
			}
			return b.Line(command + " f " + strings.Join(words, " "))
		}
		items("FILTER.ADD", 0, 4000)
		if got := b.Line("FILTER.GONE f item1 absent item2"); got != "[true false true]" || b.gone(t, "f") != "2" {
			t.Errorf("%s: FILTER.GONE answers %s and counts %s", kind, got, b.gone(t, "f"))
		}
		items("FILTER.GONE", 0, 1150)
		if got := b.field(t, "f", "verdict"); got != "OK" {
			t.Errorf("%s: with 1,152 of 4,000 deleted the verdict is %s", kind, got)
		}
		items("FILTER.GONE", 1150, 1300)
		if verdict, reason := b.field(t, "f", "verdict"), b.field(t, "f", "reason"); verdict != "Rebuild" || !strings.Contains(reason, "of its items were reported as deleted") {
			t.Errorf("%s: with 1,302 of 4,000 deleted the verdict is %s: %s", kind, verdict, reason)
		}
		for range 3 {
			items("FILTER.GONE", 0, 2000)
		}
		if got, items := b.gone(t, "f"), b.field(t, "f", "items"); got != items {
			t.Errorf("%s: %s of %s items are gone", kind, got, items)
		}
		before := b.gone(t, "f")
		if b = restarted(t, b, nil); b.gone(t, "f") != before {
			t.Errorf("%s: %s are gone after a restart, %s before", kind, b.gone(t, "f"), before)
		}
		b.OK(t, "FILTER.CLEAR f")
		if got := b.gone(t, "f"); got != "0" {
			t.Errorf("%s: %s items are gone from an empty filter", kind, got)
		}
	}
}

// TestGoneStays copies, grows and restores a filter with deleted items; what makes a new one begins
// with none.
func TestGoneStays(t *testing.T) {
	b := newBench(t, 1<<30)
	for _, line := range []string{"FILTER.CREATE f bloom CAPACITY 1000", "FILTER.ADD f a b c", "FILTER.GONE f a b", "COPY f copied", "FILTER.CREATE like bloom LIKE f", "FILTER.GROW copied"} {
		b.Line(line)
	}
	dumped := b.Exec(commandtest.Bytes([]string{"DUMP", "f"}))[0]
	if got := b.Do("RESTORE", "restored", "0", dumped.Text); got != "+OK" {
		t.Fatal(got)
	}
	b.Line("FILTER.REBUILD f BEGIN")
	b.Line("FILTER.REBUILD f FEED c")
	b.Line("FILTER.GONE f c")
	b.Line("FILTER.REBUILD f COMMIT")
	b = restarted(t, b, nil)
	for key, want := range map[string]string{"copied": "2", "restored": "2", "like": "0", "f": "0"} {
		if got := b.gone(t, key); got != want {
			t.Errorf("%s: %s items are gone, want %s", key, got, want)
		}
	}
}

// TestGoneErrors asks kinds that can delete, or forget by themselves.
func TestGoneErrors(t *testing.T) {
	b := newBench(t, 1<<30)
	for _, kind := range []string{"counting", "cuckoo", "quotient", "growing", "window SPAN 1h", "stable"} {
		b.Line("FILTER.CREATE f " + kind)
		if got := b.Line("FILTER.GONE f a"); !strings.HasPrefix(got, "-ERR FILTER.GONE is not for kind ") {
			t.Errorf("%s: %s", kind, got)
		}
		b.Line("DEL f")
	}
	b.Line("SET s x")
	b.Line("BF.ADD bf x")
	for line, want := range map[string]string{
		"FILTER.GONE f a":  "-ERR not found",
		"FILTER.GONE s a":  "-WRONGTYPE Operation against a key holding the wrong kind of value",
		"FILTER.GONE bf a": "-WRONGTYPE Operation against a key holding the wrong kind of value",
		"FILTER.GONE f":    "-ERR wrong number of arguments for 'filter.gone' command",
	} {
		if got := b.Line(line); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}
