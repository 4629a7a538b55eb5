package store_test

import (
	"errors"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestSwapChecksWhatItBuilds replays the swap of a static kind with the checksum of
// something else, and with the right one.
func TestSwapChecksWhatItBuilds(t *testing.T) {
	var fuse8 codec.Kind
	for _, k := range codec.Kinds() {
		if k.Name == "fuse8" {
			fuse8 = k
		}
	}
	s := store.New()
	apply := func(r store.Record) store.Result {
		var res store.Result
		if !r.Op.Part() {
			s.Names.Lock()
			defer s.Names.Unlock()
		}
		store.Apply(s, &r, nil, &res)
		res.Release()
		return res
	}
	begin := apply(store.Record{Op: store.OpShadow, Name: []byte("k"), Value: store.AppendStatic(nil, &store.Plan{}, &fuse8, hashing.Seeded(0), 100, 0.01)})
	if begin.Err != nil {
		t.Fatal(begin.Err)
	}
	id := begin.Entry.ID
	apply(store.Record{Op: store.OpShadowFeed, ID: id, Room: store.Unlimited, Hashes: []uint64{1 << 40, 2 << 50, 3 << 60}})
	built, err := s.Build(s.ShadowNamed([]byte("k")))
	if err != nil {
		t.Fatal(err)
	}
	sum := built.Sums()[0]
	swap := store.Record{Op: store.OpShadowSwap, ID: id, Name: []byte("k"), IDs: []uint64{0, sum + 1}}
	if res := apply(swap); !errors.Is(res.Err, bloomery.ErrCorrupt) || res.Changed {
		t.Errorf("a swap with another checksum: %v", res.Err)
	}
	swap.IDs[1] = sum
	if res := apply(swap); res.Err != nil || !store.PartOf(res.Entry).Filter().ContainsHash(2<<50) {
		t.Errorf("a swap with its checksum: %v", res.Err)
	}
	if res := apply(swap); !errors.Is(res.Err, store.ErrRetry) {
		t.Errorf("a second swap: %v", res.Err)
	}
	if s.Shadowed(id) {
		t.Error("the shadow stays open")
	}
}
