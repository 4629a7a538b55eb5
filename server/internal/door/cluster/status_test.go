package cluster

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/status"
)

// TestLanesWithoutLeader asks that a node which is down, or silent, leads no lane in what operators
// see, and that they are told of each lane to which writes wait, or are refused.
func TestLanesWithoutLeader(t *testing.T) {
	now := time.Unix(1e9, 0)
	nodes := []status.Node{
		{Number: 1, Server: "join1-a"},
		{Number: 2, Server: "join2-b", Live: true, Seen: now},
		{Number: 3, Server: "join3-c", Awaited: true},
		{Number: 4, Server: "join2-b", Left: true},
		{Number: 5},
		{Number: 6, Server: "join4-d", Live: true, Seen: now.Add(-leadsFor - 1)},
	}
	c := status.Cluster{Nodes: nodes, Quorum: true}
	for i, v := range []struct {
		server string
		lost   bool
		down   error
		leader string
	}{
		{"join1-a", false, nil, ""},
		{"join2-b", false, nil, "join2-b"},
		{"join3-c", false, nil, "join3-c"},
		{"other", false, nil, "other"},
		{"", false, nil, ""}, // it is not known, as in a NATS cluster of one server
		{"", true, nil, ""},
		{"join4-d", false, nil, ""},
		{"join1-a", false, errors.New("lane D7: its stream is full"), ""},
	} {
		c.Lanes = append(c.Lanes, status.Lane{Name: fmt.Sprint("D", i), Leader: v.server, Lost: v.lost, Down: v.down})
		one := status.Cluster{Nodes: nodes, Lanes: c.Lanes[i:]}
		if dethrone(&one, now); one.Lanes[0].Leader != v.leader {
			t.Errorf("lane %d is led by %q, want %q", i, one.Lanes[0].Leader, v.leader)
		}
	}
	describeLanes(&c)
	if got, want := fmt.Sprint(c.Problems), "[writes are refused: lane D7: its stream is full no leader of these lanes answers: D0, D5, D6. Writes to them wait until one does, or another one is elected]"; got != want {
		t.Errorf("problems %s, want %s", got, want)
	}
	c = status.Cluster{Nodes: []status.Node{{Log: true}, {Log: true, Live: true, Server: "a", Seen: now}, {Log: true}}, Lanes: []status.Lane{{Name: "CAT", Leader: "a"}, {Name: "W"}}, Quorum: true}
	dethrone(&c, now)
	if describeLanes(&c); c.Quorum || len(c.Problems) != 1 || !c.Problems[0].Refuses || !strings.Contains(c.Problems[0].Text, "CAT, W.") {
		t.Errorf("without a majority: %+v", c)
	}
}
