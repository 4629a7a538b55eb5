package commandtest

import (
	"bytes"
	"testing"

	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/server/internal/door/local"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/store"
)

// Crash takes the files as they are, in the middle of everything, and asks that
// what comes back from them is what was there when they were last in step.
func (b *Bench) Crash(t testing.TB) {
	t.Helper()
	if err := b.Door.Sync(); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(Snapshot(recovered(t, b.Files.Copy())), Snapshot(b.State)) {
		t.Fatal("another state comes back after a crash")
	}
}

// Restart crashes the bench and returns one that begins with its files.
func (b *Bench) Restart(t testing.TB, keys map[string]hashing.Hasher) *Bench {
	t.Helper()
	b.Crash(t)
	return Open(t, b.Files.Copy(), b.Now, keys)
}

// Close closes the bench and asks that its files give the same state again.
func (b *Bench) Close(t testing.TB) {
	t.Helper()
	if err := b.Door.Close(); err != nil {
		t.Fatal(err)
	}
	again := recovered(t, b.Files)
	if got, want := Snapshot(again), Snapshot(b.State); !bytes.Equal(got, want) {
		t.Fatalf("the log replays to another state of %d bytes, want %d", len(got), len(want))
	}
	if got, want := again.Bytes(), b.State.Bytes(); got != want {
		t.Errorf("after a replay %d bytes are counted, want %d", got, want)
	}
}

// recovered returns what comes back from files.
func recovered(t testing.TB, files *folder.Memory) *store.State {
	t.Helper()
	state := store.New()
	d, err := local.Open(local.Config{State: state, Files: files, SnapshotAfter: -1})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return state
}

// Snapshot returns a state in bytes.
func Snapshot(s *store.State) []byte {
	s.Names.Lock()
	defer s.Names.Unlock()
	return s.AppendSnapshot(nil)
}
