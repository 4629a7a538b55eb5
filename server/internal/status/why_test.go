package status

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestWaits asks for what is said of a key, case by case.
func TestWaits(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(c *Cluster, k *Key)
		want   []string
	}{
		"nothing": {func(*Cluster, *Key) {}, nil},
		"held everywhere": {func(c *Cluster, k *Key) {
			c.Shards.Copies = 0
			k.Parts = []KeyPart{{Lane: 1}}
		}, nil},
		"no majority": {func(c *Cluster, _ *Key) { c.Err = errors.New("no\nmajority") }, []string{"writes are refused: no majority"}},
		"a lane": {func(c *Cluster, _ *Key) {
			c.Lanes[1] = Lane{Name: "D1", Applied: 5, Head: 9, Flight: 2, Waiting: 70, Down: errors.New("it is full")}
			c.Lanes[2] = Lane{Name: "D2", Applied: 1, Head: 2} // not of this key
		}, []string{"lane D1 takes no writes: it is full", "node 1 waits for 4 messages of lane D1 that other nodes have applied", "2 messages of node 1 wait for a majority in lane D1, and 70 bytes wait to be sent"}},
		"a holder is down": {func(c *Cluster, k *Key) {
			c.Nodes[1].Live = false
			k.Parts[0].Learns = []uint32{3}
		}, []string{"parts 0 and 1: nodes that hold it are down: 2", "part 0: node 3 learns it, and answers for it when it holds it", "part 1: 2 nodes are to hold it, and no other node learns it yet"}},
		"all are down": {func(c *Cluster, k *Key) {
			c.Nodes[1].Live, c.Shards.Paused = false, true
			k.Parts = []KeyPart{{Lane: 1, Holds: []uint32{2}}, {Index: 1, Lane: 1, Holds: []uint32{2}}}
		}, []string{"parts 0 and 1: commands fail until one of the nodes that hold it is up: 2", "parts 0 and 1: 2 nodes are to hold it, and no other node learns it yet", "no move begins: cluster pause-moves was run"}},
		"lost": {func(_ *Cluster, k *Key) {
			k.Parts = []KeyPart{{Lane: 1, Learns: []uint32{2}}}
		}, []string{"part 0: no node holds it", "part 0: node 2 learns it, and answers for it when it holds it"}},
		"cannot learn": {func(c *Cluster, k *Key) {
			c.Shards.Failed = "no memory"
			k.Parts[0].Learns, k.Parts[1].Retires = []uint32{1}, []uint32{3}
		}, []string{"part 0: node 1 cannot learn it: no memory", "part 1: node 3 lets go of it when its own writes have arrived"}},
		"many": {func(_ *Cluster, k *Key) {
			for i := range k.Parts {
				k.Parts[i].Retires = []uint32{3}
			}
			k.Parts = append(k.Parts, KeyPart{Index: 2, Lane: 1, Holds: []uint32{1, 2}, Retires: []uint32{3}})
		}, []string{"3 parts from 0 on: node 3 lets go of it when its own writes have arrived"}},
	} {
		c := Cluster{
			Node: 1, Nodes: []Node{{Number: 1, Live: true}, {Number: 2, Live: true}, {Number: 3, Live: true}},
			Lanes: []Lane{{Name: "CAT"}, {Name: "D1"}, {Name: "D2"}}, Shards: Shards{Copies: 2},
		}
		k := Key{Parts: []KeyPart{{Lane: 1, Holds: []uint32{1, 2}}, {Index: 1, Lane: 1, Holds: []uint32{1, 2}}}}
		tt.change(&c, &k)
		got := c.Waits(&k)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %s\nwant %s", name, strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
		}
	}
}
