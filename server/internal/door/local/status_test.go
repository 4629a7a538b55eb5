package local_test

import (
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/door/local"
	"github.com/bloomery/bloomery/server/internal/folder/powercut"
)

// TestStatusCountsFailures makes the disk full, and lets a snapshot fail: both are
// counted, and when the log was last synced is known.
func TestStatusCountsFailures(t *testing.T) {
	disk := powercut.New(1)
	var full, stuck atomic.Bool
	disk.Fail = func(op, _ string) error {
		if op == "write" && full.Load() || op == "create" && stuck.Load() {
			return syscall.ENOSPC
		}
		return nil
	}
	_, d := open(t, disk, local.Always)
	if st := d.Status(); st.Failures != 0 || st.Failed != 0 || !st.Synced.IsZero() {
		t.Errorf("at the start %+v", st)
	}
	id := do(t, d, newBloom("k", 100)).Entry.ID
	if err := d.Sync(); err != nil {
		t.Fatal(err)
	}
	if age := time.Since(d.Status().Synced); age < -time.Second || age > time.Minute {
		t.Errorf("the log was synced %v ago", age)
	}
	full.Store(true)
	do(t, d, add(id, 1))
	if d.Sync() == nil || d.Status().Failures == 0 {
		t.Errorf("a write to a full disk: %d failures", d.Status().Failures)
	}
	full.Store(false)
	for deadline := time.Now().Add(30 * time.Second); d.Refuses() != nil && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	stuck.Store(true)
	if err := d.Snapshot(); err == nil || d.Status().Failed != 1 {
		t.Errorf("a snapshot that cannot be written: %v, %d failures", err, d.Status().Failed)
	}
	stuck.Store(false)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}
