package command_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/server/internal/door/local"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestWindowsPass asks that items leave a window when their span is over, by use and
// by the timer, that a clock which jumps back changes nothing, and that a recovery
// has the same generation.
func TestWindowsPass(t *testing.T) {
	for _, parts := range []string{"1", "4"} {
		b := newBench(t, 1<<30)
		start := b.now
		b.do("FILTER.CREATE", "w", "window", "CAPACITY", "1000", "SPAN", "60s", "GENERATIONS", "6", "BURST", "6", "PARTS", parts)
		b.do("FILTER.ADD", "w", "old", "kept")
		b.now = start.Add(30 * time.Second)
		b.do("FILTER.ADD", "w", "kept", "new")
		for _, at := range []time.Duration{50 * time.Second, 20 * time.Second} { // there and back
			b.now = start.Add(at)
			if got := b.do("FILTER.HAS", "w", "old", "kept", "new", "none"); got != "[true true true false]" {
				t.Errorf("%s parts, after %v: %s", parts, at, got)
			}
		}
		b.now = start.Add(75 * time.Second)
		b.engine.Sweep(10)
		crash(t, b)
		if got := b.do("FILTER.HAS", "w", "old", "kept", "new"); got != "[false true true]" {
			t.Errorf("%s parts, after a span: %s", parts, got)
		}
		b.now = start // the clock jumps back: nothing returns, nothing goes
		b.engine.Sweep(10)
		if got := b.do("FILTER.HAS", "w", "old", "kept", "new"); got != "[false true true]" {
			t.Errorf("%s parts, a clock that jumps back: %s", parts, got)
		}
		b.do("FILTER.ADD", "w", "back")
		b.now = start.Add(200 * time.Second)
		if got := b.do("FILTER.HAS", "w", "old", "kept", "new", "back"); got != "[false false false false]" {
			t.Errorf("%s parts, much later: %s", parts, got)
		}
		if err := b.door.Snapshot(); err != nil {
			t.Fatal(err)
		}
		crash(t, b)
		b.do("DEL", "w")
		b.now = b.now.Add(time.Minute)
		b.engine.Sweep(10)
		if n := len(b.state.Windows()); n != 0 {
			t.Errorf("%d windows are remembered that are gone", n)
		}
	}
}

// TestSecretKeys asks that a filter with a secret key can be used with it alone, that
// without it nothing is lost or changed.
func TestSecretKeys(t *testing.T) {
	key := [16]byte{0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10, 0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01}
	keys := map[string]hashing.Hasher{"mine": hashing.Keyed(key)}
	b := newBench(t, 1<<30)
	b.state.SetKeys(keys)
	if got := b.do("FILTER.CREATE", "f", "bloom", "KEYED", "other"); got != "-ERR KEYED: there is no key 'other' in the file of keys (serve --keys)" {
		t.Errorf("CREATE KEYED other = %s", got)
	}
	for i, kind := range []string{"bloom", "cuckoo", "scalable", "window", "quotient"} {
		f := fmt.Sprint("f", i)
		if got := b.do("FILTER.CREATE", f, kind, "CAPACITY", "1000", "KEYED", "mine", "PARTS", "2"); got != "+OK" {
			t.Fatalf("CREATE %s = %s", kind, got)
		}
		b.do("FILTER.ADD", f, "a", "b")
	}
	if got := b.do("FILTER.HASHASH", "f0", "1"); got != "-ERR FILTER.HASHASH is refused on a filter with a secret key" {
		t.Errorf("HASHASH = %s", got)
	}
	if got := b.do("FILTER.CREATE", "q", "quorum", "KEYED", "mine"); got != "-ERR KEYED is not for kind quorum: its members derive further secrets from the key, and a server without the key could not replay its log" {
		t.Errorf("CREATE quorum = %s", got)
	}
	if err := b.door.Snapshot(); err != nil {
		t.Fatal(err)
	}
	b.do("FILTER.ADD", "f0", "c") // in the log only
	if err := b.door.Close(); err != nil {
		t.Fatal(err)
	}
	want := snapshot(b.state)

	without := reopenWith(t, b, nil)
	const text = "-ERR the secret key 'mine' of this filter is not in the file of keys: it is kept as it is, and cannot be used without"
	for _, line := range []string{"FILTER.HAS f0 a", "FILTER.ADD f1 a", "FILTER.DEL f1 a", "FILTER.COUNT f1 a"} {
		if got := without.line(line); got != text {
			t.Errorf("%s without the key = %s", line, got)
		}
	}
	if string(snapshot(without.state)) != string(want) {
		t.Error("without the key the state is another one")
	}
	if err := without.door.Snapshot(); err != nil {
		t.Fatal(err)
	}
	if err := without.door.Close(); err != nil {
		t.Fatal(err)
	}

	again := reopenWith(t, b, keys)
	if got := again.do("FILTER.HAS", "f0", "a", "b", "c", "d"); got != "[true true true false]" {
		t.Errorf("HAS with the key again = %s", got)
	}
	if string(snapshot(again.state)) != string(want) {
		t.Error("with the key again the state is another one")
	}
}

// TestSecretKeyLater asks that a filter which came to a server without its secret key
// can be used as soon as the key is there, whatever its id.
func TestSecretKeyLater(t *testing.T) {
	keys := map[string]hashing.Hasher{"mine": hashing.Keyed([16]byte{1, 2, 3})}
	from := newBench(t, 1<<30)
	from.state.SetKeys(keys)
	from.do("FILTER.CREATE", "f", "bloom", "CAPACITY", "1000", "KEYED", "mine")
	from.do("FILTER.ADD", "f", "a")
	piece := piecesOf(t, from, "f")[0]
	dumped := from.exec([][]byte{[]byte("DUMP"), []byte("f")})[0].Text

	b := newBench(t, 1<<30)
	if got := b.do("FILTER.LOAD", "loaded", piece[0], piece[1]); got != "+OK" {
		t.Fatalf("FILTER.LOAD = %s", got)
	}
	if got := b.do("RESTORE", "restored", "0", dumped); got != "+OK" {
		t.Fatalf("RESTORE = %s", got)
	}
	const text = "-ERR the secret key of this filter is not in the file of keys: it is kept as it is, and cannot be used without"
	if got := b.line("FILTER.HAS loaded a"); got != text {
		t.Errorf("without the key = %s", got)
	}
	if err := b.door.Close(); err != nil {
		t.Fatal(err)
	}
	b = reopenWith(t, b, map[string]hashing.Hasher{"other": hashing.Keyed([16]byte{9}), "renamed": keys["mine"]})
	for _, name := range []string{"loaded", "restored"} {
		if got := b.line("FILTER.HAS " + name + " a b"); got != "[true false]" {
			t.Errorf("%s with the key = %s", name, got)
		}
	}
}

// reopenWith returns a bench over the files of another that is closed.
func reopenWith(t *testing.T, b *bench, keys map[string]hashing.Hasher) *bench {
	t.Helper()
	n := newBench(t, 1<<30)
	n.files, n.state = b.files, store.New()
	n.state.SetKeys(keys)
	var err error
	if n.door, err = local.Open(local.Config{State: n.state, Files: n.files, SnapshotAfter: -1}); err != nil {
		t.Fatal(err)
	}
	n.rewire()
	return n
}

// TestWhereLetsTimePass looks for items in a window that has not been asked since a
// generation ended.
func TestWhereLetsTimePass(t *testing.T) {
	b := newBench(t, 1<<30)
	b.line("FILTER.CREATE w window CAPACITY 1000 SPAN 60s GENERATIONS 6")
	b.line("FILTER.ADD w x")
	for _, c := range []struct {
		after time.Duration
		want  string
	}{{15 * time.Second, `["x" ["w"] "y" []]`}, {2 * time.Minute, `["x" [] "y" []]`}} {
		b.now = b.now.Add(c.after)
		if got := b.line("FILTER.WHERE * x y"); got != c.want {
			t.Errorf("%v later: FILTER.WHERE = %s, want %s", c.after, got, c.want)
		}
	}
}
