package status

// What is counted of a cluster.

import "testing"

// TestCounts asks which machines are members, and which of them live.
func TestCounts(t *testing.T) {
	c := Cluster{Nodes: []Node{{Live: true}, {}, {Live: true, Left: true}, {Left: true}, {Live: true}}}
	if c.Members() != 3 || c.Alive() != 2 {
		t.Errorf("%d members, %d of them live, want 3 and 2", c.Members(), c.Alive())
	}
	if none := (&Cluster{}); none.Members() != 0 || none.Alive() != 0 {
		t.Errorf("of nobody %d are members, %d live", none.Members(), none.Alive())
	}
}
