package balance

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/bloomery/bloomery/server/internal/placement"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/store"
)

// shards returns a roster with two copies of each shard, at nodes 1 and 2, but for the first,
// which has the given ones; what is to be, which is the same but for the first; and that some
// nodes say to have all that the roster says of them.
func shards(first []roster.Copy, want []uint32, live ...uint32) (*roster.Roster, [][]uint32, Holders) {
	r := &roster.Roster{ID: 1, Shards: &roster.Shards{Copies: 2, Places: make([]roster.Place, placement.Shards)}}
	target := make([][]uint32, placement.Shards)
	for i := range r.Shards.Places {
		r.Shards.Places[i] = roster.Place{Version: 7, Copies: []roster.Copy{{Node: 1, Phase: roster.Holds}, {Node: 2, Phase: roster.Holds}}}
		target[i] = []uint32{1, 2}
	}
	r.Shards.Places[0].Copies, target[0] = first, want
	h := Holders{}
	for _, node := range live {
		h[node] = make([]byte, placement.Shards/8)
		for i := range r.Shards.Places {
			if r.Shards.Places[i].Copy(node).Phase == roster.Holds {
				h[node][i/8] |= 1 << (i % 8)
			}
		}
	}
	return r, target, h
}

// held are copies of nodes, of which the last learns if it is negative.
func held(nodes ...int) (list []roster.Copy) {
	for _, n := range nodes {
		c := roster.Copy{Node: uint32(max(n, -n)), Phase: roster.Holds}
		if n < 0 {
			c.Phase, c.Since = roster.Learns, 5
		}
		list = append(list, c)
	}
	return list
}

// TestDecide asks for the next record about a shard, whoever has it and whoever is there.
func TestDecide(t *testing.T) {
	for name, c := range map[string]struct {
		copies []roster.Copy
		want   []uint32
		live   []uint32
		next   []store.Body
	}{
		"all is as it should be":               {held(1, 2), []uint32{1, 2}, []uint32{1, 2, 3}, nil},
		"another is to hold it":                {held(1, 2), []uint32{1, 3}, []uint32{1, 2, 3}, []store.Body{&store.ShardLearn{Node: 3, Version: 7}}},
		"which is away":                        {held(1, 2), []uint32{1, 3}, []uint32{1, 2}, nil},
		"and nobody can be asked":              {held(1, 2), []uint32{1, 3}, []uint32{3}, nil},
		"it learns":                            {held(1, 2, -3), []uint32{1, 3}, []uint32{1, 2, 3}, nil},
		"it is away while it learns":           {held(1, 2, -3), []uint32{1, 3}, []uint32{1, 2}, []store.Body{&store.ShardCancel{Node: 3, Since: 5}}},
		"it need not learn it any more":        {held(1, 2, -3), []uint32{1, 2}, []uint32{1, 2, 3}, []store.Body{&store.ShardCancel{Node: 3, Since: 5}}},
		"it holds it":                          {held(1, 2, 3), []uint32{1, 3}, []uint32{1, 2, 3}, []store.Body{&store.ShardRetire{Node: 2, Version: 7}}},
		"it holds it, as the roster says only": {held(1, 2, 3), []uint32{1, 3}, []uint32{1, 2}, nil},
	} {
		r, target, h := shards(c.copies, c.want, c.live...)
		if got := h.Decide(r, target); !reflect.DeepEqual(got, c.next) {
			t.Errorf("%s: %v, want %v", name, show(got), show(c.next))
		}
		if reached := len(c.copies) == 2 && c.want[1] == 2; Reached(r, target) != reached {
			t.Errorf("%s: reached %v", name, !reached)
		}
	}
}

func show(list []store.Body) (text string) {
	for _, b := range list {
		text += fmt.Sprintf("%T %+v ", b, b)
	}
	return text
}

// TestLearnsAtOnce asks that a node is not to learn everything at a time.
func TestLearnsAtOnce(t *testing.T) {
	r, target, h := shards(held(1, 2, -3), []uint32{1, 3}, 1, 2, 3)
	for i := range target {
		target[i] = []uint32{1, 3}
	}
	if got := len(h.Decide(r, target)); got != LearnsAtOnce-1 {
		t.Errorf("a node that learns a shard is to learn %d more, want %d", got, LearnsAtOnce-1)
	}
}

// TestHoldAll asks whether a node can be missed.
func TestHoldAll(t *testing.T) {
	r, _, h := shards(held(1, 3), nil, 2, 3)
	if !h.HoldAll(r, 1) {
		t.Error("others hold all that node 1 does")
	}
	if h.HoldAll(r, 3) {
		t.Error("node 1 says nothing, and node 3 alone holds the first shard")
	}
}

// TestTarget leaves out nodes that have left, or are behind.
func TestTarget(t *testing.T) {
	r := &roster.Roster{ID: 1, Shards: &roster.Shards{Copies: 2}, Members: []roster.Member{
		{Number: 1, Weight: 40}, {Number: 2, Weight: 40, Left: true}, {Number: 3, Weight: 40}, {Number: 4, Weight: 40, Behind: true},
	}}
	for shard, nodes := range Target(r) {
		if len(nodes) != 2 || nodes[0]+nodes[1] != 4 {
			t.Fatalf("shard %d is to be held by %v", shard, nodes)
		}
	}
}
