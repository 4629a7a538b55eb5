package local_test

import (
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/door/local"
)

// TestSavedAfterAStart asks that a start knows when the last snapshot was taken: by
// the snapshot, not by its own clock.
func TestSavedAfterAStart(t *testing.T) {
	files := &local.Memory{}
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
	defer d.Close() //nolint:errcheck // nothing was written
	if got := d.Status().Saved; got.Sub(saved).Abs() > time.Second {
		t.Errorf("after a start Saved = %v, want %v", got, saved)
	}
}
