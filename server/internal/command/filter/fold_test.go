package filter_test

import (
	"testing"

	"github.com/bloomery/bloomery/server/internal/command/filter"
)

// TestFoldOfWhatIsGone looks for what FILTER.FOLD is to fold in a filter that was deleted
// after it was found.
func TestFoldOfWhatIsGone(t *testing.T) {
	b := newBench(t, 1<<30)
	b.OK(t, "FILTER.CREATE f bloom CAPACITY 100000 PARTS 4")
	entry := b.State.Names.Lookup([]byte("f"), b.Now.UnixMilli())
	if got := b.Line("DEL f"); got != ":1" {
		t.Fatal(got)
	}
	if todo, size := filter.Unfolded(entry); len(todo) != 4 || size != 0 {
		t.Errorf("%d parts of %d bytes are left to fold, want 4 of none", len(todo), size)
	}
}
