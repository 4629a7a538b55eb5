package store_test

import (
	"runtime"
	"slices"
	"testing"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestLearnedAcrossASwap has a node learn a part of a shadow that was lent before the swap, and is
// installed behind it: with a record of a filter in its lane, or with none.
func TestLearnedAcrossASwap(t *testing.T) {
	kinds := codec.Kinds()
	fuse8 := kinds[slices.IndexFunc(kinds, func(k codec.Kind) bool { return k.Name == "fuse8" })]
	outline, err := codec.AppendOutline(nil, bloom.New(100, 0.01))
	if err != nil {
		t.Fatal(err)
	}
	for name, header := range map[string][]byte{
		"static": contents.AppendStatic(nil, &contents.Plan{}, &fuse8, hashing.Seeded(0), 100, 0.01),
		"bloom":  contents.AppendShadow(nil, &contents.Plan{}, outline),
	} {
		for _, marked := range []bool{false, true} {
			s, id := holder(t)
			step(t, s, &store.Level{Level: store.LevelRebuilds})
			shadow := apply(t, s, store.Record{Body: &store.ShadowOpen{Of: id, Shared: true, Header: header}}).Entry.ID
			apply(t, s, store.Record{ID: shadow, Body: &store.ShadowAdd{Fed: true, Shared: true, Hashes: hashes(20), Room: store.Unlimited}})
			step(t, s, &store.RebuildStep{ID: shadow, What: store.StepReady})
			attempt := uint64(0)
			if name == "static" {
				attempt = uint64(apply(t, s, store.Record{Body: &store.RebuildStep{ID: shadow, What: store.StepAttempt}}).N)
				apply(t, s, store.Record{ID: shadow, Body: &store.RebuildSeal{Attempt: attempt}})
			}
			shard := partOf(s, shadow, 0).Shard()
			lent := contents.NewPart(reload(t, s, partOf(s, shadow, 0).Contents()))
			s.Count(lent)
			place, held := copyAt(s, shard)
			step(t, s, &store.ShardRetire{Node: 1, Shard: uint64(shard), Version: place.Version})
			s.Yield(shard)
			s.Sweep()
			step(t, s, &store.ShardFree{Node: 1, Shard: uint64(shard), Since: held.Since})
			if e := s.ShadowByID(shadow).Entry(); e != s.Names.ByID(shadow) || !contents.PartOf(e).Elsewhere() {
				t.Errorf("%s: the shadow has parts that are not its own", name)
			}
			if res := apply(t, s, store.Record{Body: &store.RebuildSwap{ID: shadow, Attempt: attempt}}); res.Err != nil {
				t.Fatalf("%s: a swap where others hold the parts: %v", name, res.Err)
			}
			place, _ = copyAt(s, shard)
			since := uint64(apply(t, s, store.Record{Body: &store.ShardLearn{Node: 1, Shard: uint64(shard), Version: place.Version}}).N)
			if marked {
				var res store.Result
				if store.Apply(s, &store.Record{ID: shadow, Body: &store.FilterMark{Number: shadow + 1}}, lent, &res); res.Err != nil || lent.Filter() == nil {
					t.Errorf("%s: a record of a filter that has been a shadow: %v", name, res.Err)
				}
			}
			if !s.Install(shadow, 0, lent, roster.Held{Shard: shard, Since: since}) {
				t.Fatalf("%s: the part is not taken", name)
			}
			if f := partOf(s, shadow, 0).Filter(); f == nil {
				t.Errorf("%s: a filter has the part of a shadow", name)
			} else if yes, _ := lent.Probe(make([]bool, 20), hashes(20), true); yes != 20 {
				t.Errorf("%s: %d of 20 items are in it", name, yes)
			}
			s.Discard()
		}
	}
}

// slowRoom is memory of a node for which whoever asks waits until release is closed.
type slowRoom struct{ asked, release chan struct{} }

func (r *slowRoom) Reserve(uint64) bool {
	select {
	case r.asked <- struct{}{}:
	default:
	}
	<-r.release
	return true
}

func (*slowRoom) Claim(uint64)   {}
func (*slowRoom) Release(uint64) {}

// TestSwapAwaitsBuilding has a static filter still be built when the swap comes: names can be locked until it is.
func TestSwapAwaitsBuilding(t *testing.T) {
	kinds := codec.Kinds()
	fuse8 := kinds[slices.IndexFunc(kinds, func(k codec.Kind) bool { return k.Name == "fuse8" })]
	s, id := holder(t)
	defer s.Discard()
	room := &slowRoom{make(chan struct{}, 1), make(chan struct{})}
	s.SetMemory(room)
	step(t, s, &store.Level{Level: store.LevelRebuilds})
	shadow := apply(t, s, store.Record{Body: &store.ShadowOpen{Of: id, Shared: true, Header: contents.AppendStatic(nil, &contents.Plan{}, &fuse8, hashing.Seeded(0), 100, 0.01)}}).Entry.ID
	apply(t, s, store.Record{ID: shadow, Body: &store.ShadowAdd{Fed: true, Shared: true, Hashes: hashes(20), Room: store.Unlimited}})
	step(t, s, &store.RebuildStep{ID: shadow, What: store.StepReady})
	attempt := uint64(apply(t, s, store.Record{Body: &store.RebuildStep{ID: shadow, What: store.StepAttempt}}).N)
	apply(t, s, store.Record{ID: shadow, Body: &store.RebuildSeal{Attempt: attempt}})
	<-room.asked
	swap := store.Record{Body: &store.RebuildSwap{ID: shadow, Attempt: attempt}}
	built := make(chan bool)
	go func() {
		s.Await(&swap)
		select {
		case <-room.release:
			built <- true
		default:
			built <- false
		}
	}()
	for range 100 {
		s.Names.Lock()
		runtime.Gosched()
		s.Names.Unlock()
	}
	close(room.release)
	if !<-built {
		t.Error("the swap does not wait for what is being built")
	}
	if res := apply(t, s, swap); res.Err != nil || partOf(s, shadow, 0).Filter() == nil {
		t.Errorf("the swap: %v", res.Err)
	}
}
