package local_test

import (
	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/store"
)

// rebuild is a step of a rebuild of a filter, or of a name that is free.
func (w *world) rebuild(name []byte, at int64) {
	e := w.state.Names.Lookup(name, at)
	if e != nil && e.Kind != catalog.Filter {
		return
	}
	sh := w.state.ShadowNamed(name)
	if e != nil {
		sh = w.state.ShadowOf(e.ID)
	}
	if sh == nil {
		w.do(w.begin(e, name, at))
		return
	}
	swap := &store.ShadowSwap{ID: sh.ID, Of: sh.Main}
	if sh.Main == 0 {
		swap.Name = name
	}
	switch k := w.rng.IntN(12); {
	case k == 0:
		w.do(store.Record{At: at, Body: &store.Evict{IDs: []uint64{sh.ID}}})
	case k == 1 && !sh.Row().Features.Static:
		w.do(store.Record{At: at, Body: swap})
	case k < 4 && sh.Row().Features.Static:
		commit := uint64(w.do(store.Record{At: at, Body: &store.ShadowSeal{ID: sh.ID}}).N)
		built, err := w.state.Build(sh.Entry(), commit, func() bool { return false })
		if err != nil || k == 2 { // given up
			sh.Reopen(commit)
			return
		}
		swap.Built, swap.Sums = built, built.Sums()
		w.do(store.Record{At: at, Body: swap})
	default:
		hs := []uint64{w.rng.Uint64N(400) * 0x9e3779b97f4a7c15}
		part := bloomery.Route(hs[0], uint(sh.Plan().Parts))
		w.do(store.Record{ID: sh.ID, Index: uint32(part), Body: &store.ShadowAdd{Fed: true, Hashes: hs, Room: store.Unlimited}})
	}
}

// begin opens a shadow.
func (w *world) begin(e *catalog.Entry, name []byte, at int64) store.Record {
	o := &store.ShadowOpen{}
	r := store.Record{At: at, Body: o}
	if e != nil {
		o.Of = e.ID
	} else {
		o.Name = name
	}
	p := contents.Plan{Parts: uint8(w.rng.IntN(3)), Generation: 1000}
	if w.rng.IntN(2) == 0 {
		o.Header = contents.AppendShadow(nil, &p, w.outline())
		return r
	}
	for _, k := range codec.Kinds() {
		if k.Name == "fuse8" {
			o.Header = contents.AppendStatic(nil, &p, &k, hashing.Seeded(0), 50, 0.01)
		}
	}
	return r
}
