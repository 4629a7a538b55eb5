package cluster

import (
	"testing"

	"github.com/bloomery/bloomery/server/internal/status"
)

// TestDownNodeDoesNotLead asks that a node which is down leads no lane in what operators see.
func TestDownNodeDoesNotLead(t *testing.T) {
	c := status.Cluster{
		Nodes: []status.Node{
			{Number: 1, Server: "join1-a"},
			{Number: 2, Server: "join2-b", Live: true},
			{Number: 3, Server: "join3-c", Awaited: true},
			{Number: 4, Server: "join2-b", Left: true},
			{Number: 5},
		},
	}
	for _, leader := range []string{"join1-a", "join2-b", "join3-c", "other", ""} {
		c.Lanes = append(c.Lanes, status.Lane{Leader: leader})
	}
	dethrone(&c)
	for i, want := range []string{"", "join2-b", "join3-c", "other", ""} {
		if got := c.Lanes[i].Leader; got != want {
			t.Errorf("lane %d is led by %q, want %q", i, got, want)
		}
	}
}
