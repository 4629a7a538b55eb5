package local_test

import (
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/local"
	"github.com/bloomery/bloomery/server/internal/folder/powercut"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestRemovedDuringSnapshot removes a large filter while a snapshot copies it: the
// copy ends early, the memory goes back at once, and the folder recovers to what
// there is.
func TestRemovedDuringSnapshot(t *testing.T) {
	disk := powercut.New(1)
	var state *store.State
	var d *local.Door
	removed, written := false, 0
	disk.Fail = func(op, name string) error {
		if op != "write" || !strings.HasSuffix(name, ".part") || d == nil {
			return nil
		}
		written++
		if !removed {
			removed = true
			d.Do([]*door.Op{{Record: store.Record{Body: &store.Remove{Names: [][]byte{[]byte("large")}}}}})
		}
		return nil
	}
	state, d = open(t, disk, local.EverySecond)
	do(t, d, add(do(t, d, newBloom("large", 30_000_000)).Entry.ID, 1, 2, 3)) // 36 MB
	fillSmall(t, d)
	if err := d.Snapshot(); err != nil {
		t.Fatal(err)
	}
	if !removed || written > 5 {
		t.Errorf("removed %v, then %d writes of what is gone", removed, written)
	}
	for deadline := time.Now().Add(30 * time.Second); state.Mapped() != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d bytes are still mapped", state.Mapped())
		}
	}
	names, _ := disk.List()
	if parts := strings.Count(strings.Join(names, " "), ".part"); parts != 1 {
		t.Errorf("files %v, want one part file", names)
	}
	state, d = same(t, disk, state, d)
	if state.Names.Len() != 4 {
		t.Errorf("%d names, want 4", state.Names.Len())
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}
