package filter_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/server/internal/command/commandtest"
	"github.com/bloomery/bloomery/server/internal/contents"
)

// TestWindowsPass asks that items leave a window when their span is over, by use and
// by the timer, that a clock which jumps back changes nothing, and that a recovery
// has the same generation.
func TestWindowsPass(t *testing.T) {
	for _, parts := range []string{"1", "4"} {
		b := newBench(t, 1<<30)
		start := b.Now
		b.Do("FILTER.CREATE", "w", "window", "CAPACITY", "1000", "SPAN", "60s", "GENERATIONS", "6", "BURST", "6", "PARTS", parts)
		b.Do("FILTER.ADD", "w", "old", "kept")
		b.Now = start.Add(30 * time.Second)
		b.Do("FILTER.ADD", "w", "kept", "new")
		for _, at := range []time.Duration{50 * time.Second, 20 * time.Second} { // there and back
			b.Now = start.Add(at)
			if got := b.Do("FILTER.HAS", "w", "old", "kept", "new", "none"); got != "[true true true false]" {
				t.Errorf("%s parts, after %v: %s", parts, at, got)
			}
		}
		b.Now = start.Add(75 * time.Second)
		b.Engine.Sweep(10)
		b.Crash(t)
		if got := b.Do("FILTER.HAS", "w", "old", "kept", "new"); got != "[false true true]" {
			t.Errorf("%s parts, after a span: %s", parts, got)
		}
		b.Now = start // the clock jumps back: nothing returns, nothing goes
		b.Engine.Sweep(10)
		if got := b.Do("FILTER.HAS", "w", "old", "kept", "new"); got != "[false true true]" {
			t.Errorf("%s parts, a clock that jumps back: %s", parts, got)
		}
		b.Do("FILTER.ADD", "w", "back")
		b.Now = start.Add(200 * time.Second)
		if got := b.Do("FILTER.HAS", "w", "old", "kept", "new", "back"); got != "[false false false false]" {
			t.Errorf("%s parts, much later: %s", parts, got)
		}
		if err := b.Door.Snapshot(); err != nil {
			t.Fatal(err)
		}
		b.Crash(t)
		b.Do("DEL", "w")
		b.Now = b.Now.Add(time.Minute)
		b.Engine.Sweep(10)
		if n := len(b.State.Windows()); n != 0 {
			t.Errorf("%d windows are remembered that are gone", n)
		}
	}
}

// TestWindowsAreCleared asks that time passes for a large window at once, and that the timer clears what it has dropped.
func TestWindowsAreCleared(t *testing.T) {
	b := newBench(t, 1<<30)
	b.Do("FILTER.CREATE", "w", "window", "CAPACITY", "1000000", "SPAN", "60s", "GENERATIONS", "6", "PARTS", "1")
	b.Do("FILTER.ADD", "w", "old")
	b.Now = b.Now.Add(75 * time.Second)
	if got := b.Do("FILTER.HAS", "w", "old"); got != "false" && got != "[false]" {
		t.Errorf("after a span: %s", got)
	}
	p := contents.PartOf(b.State.Names.Get([]byte("w")))
	left := func() (some bool) {
		p.Filter().(*compose.Window).Sweep(1, func(int, int) { some = true })
		return some
	}
	if !left() {
		t.Error("all was cleared when the window was asked")
	}
	b.Engine.Sweep(10)
	if left() {
		t.Error("the timer has not cleared what was dropped")
	}
}

// TestSecretKeys asks that a filter with a secret key can be used with it alone, that
// without it nothing is lost or changed.
func TestSecretKeys(t *testing.T) {
	key := [16]byte{0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10, 0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01}
	keys := map[string]hashing.Hasher{"mine": hashing.Keyed(key)}
	b := newBench(t, 1<<30)
	b.State.SetKeys(keys)
	if got := b.Do("FILTER.CREATE", "f", "bloom", "KEYED", "other"); got != "-ERR KEYED: there is no key 'other' in the file of keys (serve --keys)" {
		t.Errorf("CREATE KEYED other = %s", got)
	}
	for i, kind := range []string{"bloom", "cuckoo", "scalable", "window", "quotient"} {
		f := fmt.Sprint("f", i)
		if got := b.Do("FILTER.CREATE", f, kind, "CAPACITY", "1000", "KEYED", "mine", "PARTS", "2"); got != "+OK" {
			t.Fatalf("CREATE %s = %s", kind, got)
		}
		b.Do("FILTER.ADD", f, "a", "b")
	}
	if got := b.Do("FILTER.HASHASH", "f0", "1"); got != "-ERR FILTER.HASHASH is refused on a filter with a secret key" {
		t.Errorf("HASHASH = %s", got)
	}
	if got := b.Do("FILTER.CREATE", "q", "quorum", "KEYED", "mine"); got != "-ERR KEYED is not for kind quorum: its members derive further secrets from the key, and a server without the key could not replay its log" {
		t.Errorf("CREATE quorum = %s", got)
	}
	if err := b.Door.Snapshot(); err != nil {
		t.Fatal(err)
	}
	b.Do("FILTER.ADD", "f0", "c") // in the log only
	if err := b.Door.Close(); err != nil {
		t.Fatal(err)
	}
	want := commandtest.Snapshot(b.State)

	without := openBench(t, b.Files, b.Now, nil)
	const text = "-ERR the secret key 'mine' of this filter is not in the file of keys: it is kept as it is, and cannot be used without"
	for _, line := range []string{"FILTER.HAS f0 a", "FILTER.ADD f1 a", "FILTER.DEL f1 a", "FILTER.COUNT f1 a"} {
		if got := without.Line(line); got != text {
			t.Errorf("%s without the key = %s", line, got)
		}
	}
	if string(commandtest.Snapshot(without.State)) != string(want) {
		t.Error("without the key the state is another one")
	}
	if err := without.Door.Snapshot(); err != nil {
		t.Fatal(err)
	}
	if err := without.Door.Close(); err != nil {
		t.Fatal(err)
	}

	again := openBench(t, b.Files, b.Now, keys)
	if got := again.Do("FILTER.HAS", "f0", "a", "b", "c", "d"); got != "[true true true false]" {
		t.Errorf("HAS with the key again = %s", got)
	}
	if string(commandtest.Snapshot(again.State)) != string(want) {
		t.Error("with the key again the state is another one")
	}
}

// TestSecretKeyLater asks that a filter which came to a server without its secret key
// can be used as soon as the key is there, whatever its id.
func TestSecretKeyLater(t *testing.T) {
	keys := map[string]hashing.Hasher{"mine": hashing.Keyed([16]byte{1, 2, 3})}
	from := newBench(t, 1<<30)
	from.State.SetKeys(keys)
	from.Do("FILTER.CREATE", "f", "bloom", "CAPACITY", "1000", "KEYED", "mine")
	from.Do("FILTER.ADD", "f", "a")
	piece := piecesOf(t, from, "f")[0]
	dumped := from.Exec([][]byte{[]byte("DUMP"), []byte("f")})[0].Text

	b := newBench(t, 1<<30)
	if got := b.Do("FILTER.LOAD", "loaded", piece[0], piece[1]); got != "+OK" {
		t.Fatalf("FILTER.LOAD = %s", got)
	}
	if got := b.Do("RESTORE", "restored", "0", dumped); got != "+OK" {
		t.Fatalf("RESTORE = %s", got)
	}
	const text = "-ERR the secret key of this filter is not in the file of keys: it is kept as it is, and cannot be used without"
	if got := b.Line("FILTER.HAS loaded a"); got != text {
		t.Errorf("without the key = %s", got)
	}
	if err := b.Door.Close(); err != nil {
		t.Fatal(err)
	}
	b = openBench(t, b.Files, b.Now, map[string]hashing.Hasher{"other": hashing.Keyed([16]byte{9}), "renamed": keys["mine"]})
	for _, name := range []string{"loaded", "restored"} {
		if got := b.Line("FILTER.HAS " + name + " a b"); got != "[true false]" {
			t.Errorf("%s with the key = %s", name, got)
		}
	}
}

// TestWhereLetsTimePass looks for items in a window that has not been asked since a
// generation ended.
func TestWhereLetsTimePass(t *testing.T) {
	b := newBench(t, 1<<30)
	b.Line("FILTER.CREATE w window CAPACITY 1000 SPAN 60s GENERATIONS 6")
	b.Line("FILTER.ADD w x")
	for _, c := range []struct {
		after time.Duration
		want  string
	}{{15 * time.Second, `["x" ["w"] "y" []]`}, {2 * time.Minute, `["x" [] "y" []]`}} {
		b.Now = b.Now.Add(c.after)
		if got := b.Line("FILTER.WHERE * x y"); got != c.want {
			t.Errorf("%v later: FILTER.WHERE = %s, want %s", c.after, got, c.want)
		}
	}
}
