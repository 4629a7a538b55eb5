package resize_test

import (
	"testing"

	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/command/commandtest"
	"github.com/bloomery/bloomery/server/internal/command/filter/resize"
	"github.com/bloomery/bloomery/server/internal/contents"
)

// TestFoldOfWhatIsGone tries to fold a part of a filter that was deleted after it was found.
func TestFoldOfWhatIsGone(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.OK(t, "FILTER.CREATE f bloom CAPACITY 100000 PARTS 4")
	entry := b.State.Names.Lookup([]byte("f"), b.Now.UnixMilli())
	if got := b.Line("DEL f"); got != ":1" {
		t.Fatal(got)
	}
	if _, failed := resize.TryFold(nil, contents.PartOf(entry)); failed.Text != answer.TextNotFound {
		t.Errorf("a part that is gone: %q", failed.Text)
	}
}

// TestFoldWithAKey folds a large filter whose hashes have a secret key.
func TestFoldWithAKey(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.State.SetKeys(map[string]hashing.Hasher{"k1": hashing.Keyed([16]byte{1})})
	b.OK(t, "FILTER.CREATE f bloom CAPACITY 4000000 KEYED k1")
	if got := b.Line("FILTER.FOLD f"); got != "+OK" {
		t.Errorf("FILTER.FOLD = %s", got)
	}
}
