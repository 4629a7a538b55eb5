package local_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/foreign/redisbloom"
	"github.com/bloomery/bloomery/internal/door"
	"github.com/bloomery/bloomery/internal/door/local"
	"github.com/bloomery/bloomery/internal/store"
)

func open(t testing.TB) (*store.State, *local.Door, *local.Memory) {
	t.Helper()
	state, files := store.New(), &local.Memory{}
	d, err := local.Open(state, files)
	if err != nil {
		t.Fatal(err)
	}
	return state, d, files
}

// TestRunsMakeOneFrame asks that a door keeps order, groups and forgets what
// changed nothing.
func TestRunsMakeOneFrame(t *testing.T) {
	state, d, files := open(t)
	create := &door.Op{Record: store.Record{Op: store.OpBloom, Name: []byte("k"), Bloom: redisbloom.BloomParams{Error: 0.01, Capacity: 10, Expansion: 2}}}
	d.Do([]*door.Op{create})
	if create.Result.Err != nil {
		t.Fatal(create.Result.Err)
	}
	id := create.Result.Entry.ID
	add := func(a uint64) *door.Op {
		return &door.Op{Record: store.Record{Op: store.OpAdd, ID: id, Room: store.Unlimited, Digests: []redisbloom.Digest{{A: a, B: a * a}}}}
	}
	ops := []*door.Op{add(11), add(12), add(11), {Record: store.Record{Op: store.OpRemove, Names: [][]byte{[]byte("nokey")}}}, add(13)}
	d.Do(ops)
	d.Wait(ops)
	if got := []bool{ops[0].Result.Bools[0], ops[1].Result.Bools[0], ops[2].Result.Bools[0]}; !got[0] || !got[1] || got[2] {
		t.Errorf("new: %v, want true, true, false", got)
	}
	gone := &door.Op{Record: store.Record{Op: store.OpAdd, ID: 99}}
	if d.Do([]*door.Op{gone}); !errors.Is(gone.Result.Err, store.ErrRetry) {
		t.Errorf("a record for an id that never was: %v, want %v", gone.Result.Err, store.ErrRetry)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	log := files.Bytes(local.FirstLog)
	var kinds []store.Op
	for body := log[12:]; len(body) > 0; {
		r, n, err := store.DecodeRecord(body)
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, r.Op)
		body = body[n:]
	}
	if len(kinds) != 3 || kinds[0] != store.OpBloom || kinds[1] != store.OpAdd || kinds[2] != store.OpAdd {
		t.Errorf("log has %v, want a creation and two runs", kinds)
	}
	again := store.New()
	if err := local.Replay(again, log); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again.AppendSnapshot(nil), state.AppendSnapshot(nil)) {
		t.Error("the log replays to another state")
	}
}

// refuser lets nothing in that has more than one digest.
type refuser struct{ settled uint64 }

func (r *refuser) Admit(_ *store.Part, ops []*door.Op) (uint64, bool) {
	n := 0
	for _, op := range ops {
		n += len(op.Record.Digests)
	}
	return uint64(n), n <= 1
}

func (r *refuser) Settle(aside uint64) { r.settled += aside }

func TestMemoryIsAskedFor(t *testing.T) {
	_, d, _ := open(t)
	create := &door.Op{Record: store.Record{Op: store.OpBloom, Name: []byte("k"), Bloom: redisbloom.BloomParams{Error: 0.01, Capacity: 10, Expansion: 2}}}
	d.Do([]*door.Op{create})
	r := &refuser{}
	op := func(digests ...redisbloom.Digest) *door.Op {
		return &door.Op{Admit: r, Record: store.Record{Op: store.OpAdd, ID: create.Result.Entry.ID, Digests: digests}}
	}
	a, b, c := redisbloom.Digest{A: 1, B: 9}, redisbloom.Digest{A: 2, B: 8}, redisbloom.Digest{A: 3, B: 7}
	ops := []*door.Op{op(a), op(b, c), op(c)}
	d.Do(ops)
	if ops[0].Result.Err != nil || ops[2].Result.Err != nil || !errors.Is(ops[1].Result.Err, door.ErrMemory) {
		t.Errorf("errors: %v, %v, %v, want only the second refused", ops[0].Result.Err, ops[1].Result.Err, ops[2].Result.Err)
	}
	if r.settled != 2 {
		t.Errorf("settled %d, want 2", r.settled)
	}
}

func FuzzReplay(f *testing.F) {
	state, d, files := open(f)
	_ = state
	create := &door.Op{Record: store.Record{Op: store.OpCuckoo, Name: []byte("k"), Cuckoo: redisbloom.CuckooParams{Capacity: 10, BucketSize: 2, MaxIterations: 5, Expansion: 1}}}
	d.Do([]*door.Op{create, {Record: store.Record{Op: store.OpInsert, ID: 1, Room: store.Unlimited, Hashes: []uint64{1, 2, 3}}}})
	if err := d.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(files.Bytes(local.FirstLog))
	f.Fuzz(func(t *testing.T, log []byte) {
		err := local.Replay(store.New(), log)
		if err != nil && !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrVersion) {
			t.Fatalf("error %v wraps neither cause", err)
		}
	})
}
