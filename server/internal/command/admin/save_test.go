package admin_test

import (
	"bytes"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/local"
	"github.com/bloomery/bloomery/server/internal/folder/powercut"
	"github.com/bloomery/bloomery/server/internal/store"
)

// newDurable is newBench over a disk that can fail.
func newDurable(t *testing.T, disk *powercut.Disk, fsync local.Fsync) *commandtest.Bench {
	t.Helper()
	b := commandtest.New(t, 64<<20)
	b.State = store.New()
	b.OpenDoor(t, local.Config{Files: disk, Fsync: fsync, SnapshotAfter: -1})
	return b
}

// TestFullDiskRefusesWrites asks that reads go on while the disk is full, that
// writes are refused and say why, and that they are taken again.
func TestFullDiskRefusesWrites(t *testing.T) {
	disk := powercut.New(1)
	var full atomic.Bool
	disk.Fail = func(op, _ string) error {
		if op == "write" && full.Load() {
			return syscall.ENOSPC
		}
		return nil
	}
	b := newDurable(t, disk, local.Always)
	if got := b.Line("BF.ADD k a"); got != ":1" {
		t.Fatal(got)
	}
	full.Store(true)
	if got := b.Line("BF.ADD k b"); !strings.HasPrefix(got, "-MISCONF The write was done in memory, but it is not on disk") {
		t.Errorf("the write that met the full disk: %s", got)
	}
	for _, line := range []string{"BF.ADD k c", "CF.ADD c x", "SET s 1", "DEL k", "FLUSHALL", "EXPIRE k 10"} {
		if got := b.Line(line); !strings.HasPrefix(got, "-MISCONF Writes are refused, reads go on: ") || !strings.Contains(got, "no space left") {
			t.Errorf("%s = %s", line, got)
		}
	}
	if got := b.Line("MULTI") + b.Line("SET s 1") + b.Line("EXEC"); !strings.Contains(got, "-MISCONF") || !strings.Contains(got, "-EXECABORT") {
		t.Errorf("a transaction: %s", got)
	}
	if got := b.Line("BF.EXISTS k a"); got != ":1" {
		t.Errorf("a read on a full disk: %s", got)
	}
	if got := b.Line("INFO persistence"); !strings.Contains(got, "aof_last_write_status:err") {
		t.Errorf("INFO: %s", got)
	}
	full.Store(false)
	for deadline := time.Now().Add(30 * time.Second); b.Door.Refuses() != nil && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if got := b.Line("BF.ADD k d"); got != ":1" {
		t.Errorf("a write when there is room again: %s", got)
	}
	want := commandtest.Snapshot(b.State)
	disk.Kill()
	again := newDurable(t, disk, local.Always)
	if !bytes.Equal(commandtest.Snapshot(again.State), want) {
		t.Error("another state comes back")
	}
}

// TestTransactionIsWhole kills the server inside a transaction: none of it comes
// back, and what is written after that does.
func TestTransactionIsWhole(t *testing.T) {
	disk := powercut.New(1)
	b := newDurable(t, disk, local.Always)
	b.Line("SET before 1")
	b.Door.Do([]*door.Op{{Record: store.Record{Body: &store.Begin{}}}})
	b.Line("SET a 1")
	b.Line("BF.ADD k x")
	disk.Kill()
	b = newDurable(t, disk, local.Always)
	if got := b.Line("GET before") + b.Line("GET a") + b.Line("EXISTS k"); got != `"1"nil:0` {
		t.Errorf("after a transaction that was cut short: %s", got)
	}
	b.Line("SET after 1")
	b.Line("MULTI")
	b.Line("SET a 2")
	b.Line("BF.ADD k x")
	if got := b.Line("EXEC"); got != "[+OK :1]" {
		t.Fatal(got)
	}
	disk.Kill()
	b = newDurable(t, disk, local.Always)
	if got := b.Line("GET after") + b.Line("GET a") + b.Line("BF.EXISTS k x"); got != `"1""2":1` {
		t.Errorf("after a whole transaction: %s", got)
	}
}

func TestSaveWithoutFolder(t *testing.T) {
	b := commandtest.New(t, 64<<20)
	b.WithoutLog(t)
	for _, line := range []string{"SAVE", "BGSAVE", "DEBUG RELOAD"} {
		if got := b.Line(line); got != "-ERR persistence is not available: this server keeps its data in memory only" {
			t.Errorf("%s = %s", line, got)
		}
	}
	if got := b.Line("LASTSAVE"); got != ":1700000000" {
		t.Errorf("LASTSAVE = %s", got)
	}
	if got := b.Line("INFO persistence"); !strings.Contains(got, "aof_enabled:0") {
		t.Errorf("INFO: %s", got)
	}
}
