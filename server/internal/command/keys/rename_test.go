package keys_test

import (
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/folder"
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
		b := commandtest.New(t, 1<<30)
		b.OK(t, "FILTER.CREATE f bloom CAPACITY 1000")
		b.OK(t, "FILTER.CREATE b bloom CAPACITY 1000 SEED 1")
		b.OK(t, prepare)
		old := b.State.Names.Lookup([]byte("f"), b.Now.UnixMilli())
		p := contents.PartOf(old)
		p.RLock() // the old filter cannot leave
		moved, answered := make(chan string, 1), make(chan *folder.Memory, 1)
		mover, adder := b.Client(10), b.Client(11)
		go func() { moved <- mover.Do(strings.Fields(move)...) }()
		for b.State.Names.Lookup([]byte("f"), b.Now.UnixMilli()) == old {
			time.Sleep(time.Millisecond)
		}
		go func() {
			if got := adder.Do("FILTER.ADD", "f", "x"); got != "[true]" {
				t.Errorf("%s: ADD: %s", move, got)
			}
			if err := b.Door.Sync(); err != nil {
				t.Error(err)
			}
			answered <- b.Files.Copy()
		}()
		time.Sleep(20 * time.Millisecond) // so that an answer that does not wait is there
		p.RUnlock()
		again := commandtest.Open(t, <-answered, b.Now, nil)
		if got := again.Line("FILTER.HAS f x"); got != "[true]" {
			t.Errorf("%s: an item that was answered is lost: %s", move, got)
		}
		if got := <-moved; got != "+OK" {
			t.Errorf("%s: %s", move, got)
		}
		if err := again.Door.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestRefusedCopiesLeaveNothing copies a filter with a wrong option and onto itself:
// both are refused, and nothing stays in memory.
func TestRefusedCopiesLeaveNothing(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Line("FILTER.CREATE f bloom CAPACITY 100000")
	before := b.State.Bytes()
	b.Script(t, `
		COPY f g SOON -> -ERR syntax error
		COPY f f -> -ERR source and destination objects are the same
		EXISTS g -> :0`)
	if after := b.State.Bytes(); after != before {
		t.Errorf("%d bytes after refused copies, %d before", after, before)
	}
}
