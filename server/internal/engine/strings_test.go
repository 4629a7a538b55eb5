package engine_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/bloomery/bloomery/server/internal/store"
)

// TestMSetIsAlone asks that nobody sees a part of an MSET.
func TestMSetIsAlone(t *testing.T) {
	b := newBench(t, 1<<30)
	b.line("MSET a 0 b 0")
	writer, reader := b.connect(), b.connect()
	const rounds = 3000
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range rounds {
			writer.line(fmt.Sprintf("MSET a %d b %d", i, i))
		}
	})
	for range rounds {
		got := strings.Fields(strings.Trim(reader.line("MGET a b"), "[]"))
		if len(got) != 2 || got[0] != got[1] {
			t.Errorf("MGET a b = %q, of which one half is older", got)
			break
		}
	}
	wg.Wait()
}

// TestMSetHasALimit asks that an MSET beyond a record is refused and changes
// nothing, and that its longest name is that of all commands.
func TestMSetHasALimit(t *testing.T) {
	b := newBench(t, 1<<30)
	b.line("SET a old")
	if got := b.do("MSET", "a", strings.Repeat("v", store.MaxRecord/2), "b", strings.Repeat("v", store.MaxRecord/2)); !strings.HasPrefix(got, "-ERR MSET takes") {
		t.Errorf("MSET of more than a record = %.80s", got)
	}
	if got := b.do("MSET", "a", "1", strings.Repeat("n", store.MaxName+1), "v"); !strings.HasPrefix(got, "-ERR string exceeds") {
		t.Errorf("MSET with a name of more than %d bytes = %.80s", store.MaxName, got)
	}
	if got := b.line("MGET a b"); got != `["old" nil]` {
		t.Errorf("MGET = %.80s", got)
	}
	if got := b.do("MSET", "a", "1", strings.Repeat("n", store.MaxName), strings.Repeat("v", store.MaxRecord/2)); got != "+OK" {
		t.Errorf("MSET of less than a record = %.80s", got)
	}
	b.replays(t)
	small := newBench(t, 1<<20)
	if got := small.do("MSET", "a", strings.Repeat("v", 600<<10), "b", strings.Repeat("v", 200<<10)); got != "+OK" {
		t.Errorf("MSET = %.80s", got)
	}
	if got := small.do("MSET", "c", strings.Repeat("v", 600<<10)); !strings.HasPrefix(got, "-OOM") || small.line("EXISTS c") != ":0" {
		t.Errorf("MSET with the memory used up = %.80s", got)
	}
}

// TestReplacedNamesAreNeverAbsent replaces keys in every way while another client
// asks for them: they are always there.
func TestReplacedNamesAreNeverAbsent(t *testing.T) {
	for _, change := range [][]string{
		{"SET k v"}, {"APPEND k v"}, {"GETSET k v"}, {"MSET k v"}, {"SET a v", "RENAME a k"}, {"RESTORE k 0 $dump REPLACE"}, {"INCR n"},
	} {
		b := newBench(t, 1<<30)
		dump := setup(b)
		b.line("SET k v")
		writer, reader := b.connect(), b.connect()
		stop := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			for range 1000 {
				for _, line := range change {
					writer.do(words(line, dump)...)
				}
			}
			close(stop)
		})
		for done := false; !done; {
			select {
			case <-stop:
				done = true
			default:
			}
			if got := reader.line("EXISTS k n"); got != ":2" {
				t.Errorf("EXISTS during %q = %s", change, got)
				<-stop
				done = true
			}
		}
		wg.Wait()
	}
}
