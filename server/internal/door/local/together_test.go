package local_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/local"
	"github.com/bloomery/bloomery/server/internal/folder/powercut"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestSyncedGoOn asks that a writer whose records a sync has made durable goes on when
// that has ended, although another one came before it that needs the next sync.
func TestSyncedGoOn(t *testing.T) { synctest.Test(t, syncedGoOn) }

func syncedGoOn(t *testing.T) {
	disk := powercut.New(1)
	var held atomic.Bool
	began, goOn := make(chan struct{}, 10), make(chan struct{})
	disk.Fail = func(op, _ string) error {
		if op == "sync" && held.Load() {
			began <- struct{}{}
			<-goOn
		}
		return nil
	}
	state := store.New()
	d, err := local.Open(local.Config{State: state, Files: disk, Fsync: local.Always, SnapshotAfter: -1, Manual: true})
	if err != nil {
		t.Fatal(err)
	}
	set := func(name string) {
		d.Do([]*door.Op{{Record: store.Record{Body: &store.Set{String: store.String{Name: []byte(name), Value: []byte("v")}}}}})
	}
	sync := func() chan error {
		done := make(chan error, 1)
		go func() { done <- d.Sync() }()
		return done
	}
	held.Store(true)
	set("a")
	position := d.Position()
	first := sync()
	<-began // the first writer syncs a
	set("b")
	next := sync()
	synctest.Wait() // until it waits
	covered := make(chan error, 1)
	go func() { covered <- d.SyncTo(position) }()
	synctest.Wait()
	goOn <- struct{}{}
	for _, done := range []chan error{first, covered} {
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(time.Minute):
			t.Fatal("a writer whose record is durable waits for the sync of another")
		}
	}
	<-began // the next one syncs b
	select {
	case <-next:
		t.Error("a writer does not wait for the sync of its record")
	default:
	}
	held.Store(false)
	goOn <- struct{}{}
	if err := <-next; err != nil {
		t.Error(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}
