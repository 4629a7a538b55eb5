package engine

// Where the contents of a key lie in a cluster.

import (
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/status"
)

// Where returns where the contents of a key lie. It reports false if there is no such key, or no
// cluster.
func (x Server) Where(name []byte) (k status.Key, ok bool) {
	e := x.e.state.Names.Lookup(name, x.Milliseconds())
	if e == nil || x.e.shared == nil {
		return k, false
	}
	k = status.Key{Kind: contents.KindName(e), ID: e.ID}
	if sh := x.e.state.ShadowOf(e.ID); sh != nil {
		k.Rebuild = "open"
		switch {
		case sh.Broken():
			k.Rebuild = "broken: it lacks items, and cannot be committed"
		case sh.Closed():
			k.Rebuild = "committing: adds wait"
		case !sh.Ready():
			k.Rebuild = "opening: not all adds go to the new filter yet"
		}
	}
	for i, p := range contents.Parts(e) {
		v := status.KeyPart{Index: i, Shard: p.Shard(), Lane: x.e.shared.LaneOf(e.ID, uint32(i)), Here: x.e.state.Answers(p)}
		if place := x.e.state.PlaceOf(p); place != nil {
			for _, c := range place.Copies {
				switch c.Phase {
				case roster.Holds:
					v.Holds = append(v.Holds, c.Node)
				case roster.Learns:
					v.Learns = append(v.Learns, c.Node)
				case roster.Retires:
					v.Retires = append(v.Retires, c.Node)
				}
			}
		}
		k.Parts = append(k.Parts, v)
	}
	return k, true
}
