package local_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/bloomery/bloomery/server/internal/door/local"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestSavedAfterAStart asks that a start knows when the last snapshot was taken: by
// the snapshot, not by its own clock.
func TestSavedAfterAStart(t *testing.T) {
	files := &folder.Memory{}
	_, d := open(t, files, local.Always)
	do(t, d, newBloom("b", 100))
	before := time.Now().Truncate(time.Second)
	if err := d.Snapshot(); err != nil {
		t.Fatal(err)
	}
	saved := d.Status().Saved
	if saved.Before(before) || saved.After(time.Now()) {
		t.Errorf("Saved = %v, want between %v and now", saved, before)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	_, d = open(t, files, local.Always)
	defer d.Close()
	if got := d.Status().Saved; got.Sub(saved).Abs() > time.Second {
		t.Errorf("after a start Saved = %v, want %v", got, saved)
	}
}

// TestStepsSyncWhenDue counts the syncs of steps: with everysec there is one when a
// second has passed since the oldest write, with no there is none.
func TestStepsSyncWhenDue(t *testing.T) {
	synctest.Test(t, stepsSyncWhenDue)
}

func stepsSyncWhenDue(t *testing.T) {
	for _, mode := range []local.Fsync{local.EverySecond, local.Never} {
		state := store.New()
		d, err := local.Open(local.Config{State: state, Files: &folder.Memory{}, Fsync: mode, SnapshotAfter: -1, Manual: true})
		if err != nil {
			t.Fatal(err)
		}
		do(t, d, newBloom("b", 100))
		step := func() int64 {
			before := d.Status().Syncs
			if err := d.Step(); err != nil {
				t.Fatal(err)
			}
			return d.Status().Syncs - before
		}
		if n := step(); n != 0 {
			t.Errorf("%v: %d syncs right after a write", mode, n)
		}
		time.Sleep(1100 * time.Millisecond)
		want := int64(0)
		if mode == local.EverySecond {
			want = 1
		}
		if n := step(); n != want {
			t.Errorf("%v: %d syncs a second after a write, want %d", mode, n, want)
		}
		if n := step(); n != 0 {
			t.Errorf("%v: %d syncs after a sync", mode, n)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
