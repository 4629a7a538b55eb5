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
			c.Lanes[1] = Lane{Name: "D1", Applied: 5, Head: 9, Flight: 1, Waiting: 70, Down: errors.New("it is full")}
			c.Lanes[2] = Lane{Name: "D2", Applied: 1, Head: 2} // not of this key
		}, []string{"lane D1 takes no writes: it is full", "node 1 waits for 4 messages of lane D1 that other nodes have applied", "a majority has not taken 1 message of node 1 in lane D1 yet, and 70 bytes wait to be sent"}},
		"a holder is down": {func(c *Cluster, k *Key) {
			c.Nodes[1].Live = false
			k.Parts[0].Learns = []uint32{3}
		}, []string{"parts 0 and 1: node 2 holds it and is down", "part 0: node 3 learns it, and answers for it when it holds it", "part 1: it has fewer than 2 copies, and no node gets one yet"}},
		"all are down": {func(c *Cluster, k *Key) {
			c.Nodes[1].Live, c.Shards.Paused = false, true
			k.Parts = []KeyPart{{Lane: 1, Holds: []uint32{2}}, {Index: 1, Lane: 1, Holds: []uint32{2}}}
		}, []string{"parts 0 and 1: commands fail until node 2 is up", "parts 0 and 1: it has fewer than 2 copies, and no node gets one yet", "no move begins: cluster pause-moves was run"}},
		"two are down": {func(c *Cluster, k *Key) {
			c.Nodes[1].Live, c.Nodes[2].Live = false, false
			k.Parts = []KeyPart{{Lane: 1, Holds: []uint32{2, 3}}}
			for i := range 4 {
				k.Parts = append(k.Parts, KeyPart{Index: 3 * (i + 1), Lane: 1, Holds: []uint32{1, 2, 3}, Learns: []uint32{1}})
			}
		}, []string{
			"part 0: commands fail until node 2 or 3 is up", "part 0: it has fewer than 2 copies, and no node gets one yet",
			"4 parts (3, 6, 9, …): nodes 2 and 3 hold it and are down", "4 parts (3, 6, 9, …): node 1 learns it, and answers for it when it holds it",
		}},
		"lost": {func(_ *Cluster, k *Key) {
			k.Parts = []KeyPart{{Lane: 1, Learns: []uint32{2}}}
		}, []string{"part 0: no node holds it", "part 0: node 2 learns it, and answers for it when it holds it"}},
		"cannot learn": {func(c *Cluster, k *Key) {
			c.Shards.Failed = "no memory"
			k.Parts[0].Learns, k.Parts[1].Retires = []uint32{1}, []uint32{3}
		}, []string{"part 0: node 1 cannot receive it: no memory", "part 1: node 3 gives it up when its last writes have arrived"}},
		"many": {func(_ *Cluster, k *Key) {
			for i := range k.Parts {
				k.Parts[i].Retires = []uint32{3}
			}
			k.Parts = append(k.Parts, KeyPart{Index: 2, Lane: 1, Holds: []uint32{1, 2}, Retires: []uint32{3}})
		}, []string{"3 parts (0, 1, 2): node 3 gives it up when its last writes have arrived"}},
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
