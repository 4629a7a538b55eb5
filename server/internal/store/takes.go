package store

// What a record takes at each node.

import (
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/placement"
)

// TakesAt returns how many bytes r takes at a node, as far as that is known from the record: of contents
// that it makes, the parts that the node is to have.
func (s *State) TakesAt(r *Record, node uint32) uint64 {
	all, roster := r.Takes(), s.Roster()
	m := makerOf(r.Body)
	if m == nil || all == 0 || !roster.Spread() {
		return all
	}
	parts, base := 1, placement.Base(string(r.NewName()))
	if o, ok := r.Body.(*Stage); ok {
		if !o.Placed {
			return all
		}
		base = int(o.Base)
	}
	header := []byte(nil)
	switch v := m.(type) {
	case *Make:
		if m.kind() == catalog.Filter {
			header = v.Header
		}
	case *ShadowOpen:
		header = v.Header[1:] // bytes have been counted, so there is one
		if e := s.Names.ByID(v.Of); e != nil {
			base = contents.PartOf(e).Shard()
		}
	}
	if header != nil {
		plan, _, err := contents.CutPlan(header)
		if err != nil || plan.Replicas == contents.AllReplicas {
			return all
		}
		parts = 1 << plan.Parts
	}
	kept := 0
	for i := range parts {
		if roster.Shards.Places[placement.Shard(base, uint32(i))].Copy(node).Phase != 0 {
			kept++
		}
	}
	return all/uint64(parts)*uint64(kept) + uint64(parts-kept)*contents.BesideElsewhere
}
