package command_test

import (
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestAddBehindAMove stops a command that gives a name to another filter when the name
// has moved and the record of that is not in the log yet, and adds to the filter by that
// name. When that is answered, a server that is started from the folder has the item
// under the name.
func TestAddBehindAMove(t *testing.T) {
	for move, prepare := range map[string]string{
		"RENAME other f":         "FILTER.CREATE other bloom CAPACITY 1000",
		"FILTER.INTERSECT f a b": "FILTER.CREATE a bloom CAPACITY 1000 SEED 1",
	} {
		b := newBench(t, 1<<30)
		b.ok(t, "FILTER.CREATE f bloom CAPACITY 1000")
		b.ok(t, "FILTER.CREATE b bloom CAPACITY 1000 SEED 1")
		b.ok(t, prepare)
		old := b.state.Names.Lookup([]byte("f"), b.now.UnixMilli())
		p := store.PartOf(old)
		p.RLock() // the old filter cannot leave
		moved, answered := make(chan string, 1), make(chan *folder.Memory, 1)
		mover, adder := b.client(10), b.client(11)
		go func() { moved <- mover.do(strings.Fields(move)...) }()
		for b.state.Names.Lookup([]byte("f"), b.now.UnixMilli()) == old {
			time.Sleep(time.Millisecond)
		}
		go func() {
			if got := adder.do("FILTER.ADD", "f", "x"); got != "[true]" {
				t.Errorf("%s: ADD: %s", move, got)
			}
			if err := b.door.Sync(); err != nil {
				t.Error(err)
			}
			answered <- b.files.Copy()
		}()
		time.Sleep(20 * time.Millisecond) // so that an answer that does not wait is there
		p.RUnlock()
		again := openBench(t, <-answered, b.now, nil)
		if got := again.line("FILTER.HAS f x"); got != "[true]" {
			t.Errorf("%s: an item that was answered is lost: %s", move, got)
		}
		if got := <-moved; got != "+OK" {
			t.Errorf("%s: %s", move, got)
		}
		if err := again.door.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestRefusedCopiesLeaveNothing copies a filter with a wrong option and onto itself:
// both are refused, and nothing stays in memory.
func TestRefusedCopiesLeaveNothing(t *testing.T) {
	b := newBench(t, 1<<30)
	b.line("FILTER.CREATE f bloom CAPACITY 100000")
	before := b.state.Bytes()
	b.script(t, `
		COPY f g SOON -> -ERR syntax error
		COPY f f -> -ERR source and destination objects are the same
		EXISTS g -> :0`)
	if after := b.state.Bytes(); after != before {
		t.Errorf("%d bytes after refused copies, %d before", after, before)
	}
}
