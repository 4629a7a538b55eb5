package engine_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/command"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/status"
)

// threeNodes is a cluster of which one node is dead and another was removed.
var threeNodes = status.Cluster{
	Name: "c1", ID: 0xabc, Node: 2, Serving: true, Quorum: true, Decider: 1, Lag: 3, Sent: 10, Repeated: 1, Applied: 20, Passed: 2,
	Lanes: []status.Lane{{Name: "CAT", Applied: 7, Head: 7, Leader: "n1"}, {Number: 1, Name: "D1", Applied: 4, Head: 7}},
	Nodes: []status.Node{
		{Number: 1, Name: "n1", Addr: "10.0.0.1:6379", Live: true, Seen: time.UnixMilli(1_700_000_000_000)},
		{Number: 2, Name: "n2", Addr: "10.0.0.2:6379", Live: true, Self: true},
		{Number: 3, Name: "n3", Addr: "10.0.0.3:6379"},
		{Number: 4, Name: "n4", Addr: "10.0.0.4:6379", Left: true},
		{Number: 5, Name: "n5", Addr: "[::1]:6380", Live: true},
	},
	Problems: []status.Problem{{Text: "n3 is away\nfor long"}},
}

// TestClusterCommands asks what clients of Redis Cluster are told.
func TestClusterCommands(t *testing.T) {
	b, d := newShared(t, 1<<30)
	d.status = threeNodes
	d.status.Nodes = slices.Clone(threeNodes.Nodes)
	id := func(n int) string { return fmt.Sprintf("%016x%024x", 0xabc, n) }
	node := func(host, port string, n int) string { return fmt.Sprintf(`[%q :%s %q []]`, host, port, id(n)) }
	first, second, fifth := node("10.0.0.1", "6379", 1), node("10.0.0.2", "6379", 2), node("::1", "6380", 5)
	for _, tt := range []struct{ line, want string }{
		{"CLUSTER SLOTS", "[[:0 :5460 " + first + " " + second + " " + fifth + "] [:5461 :10921 " + second + " " + fifth + " " + first + "] [:10922 :16383 " + fifth + " " + first + " " + second + "]]"},
		{"CLUSTER MYID", fmt.Sprintf("%q", id(2))},
		{"CLUSTER KEYSLOT 123456789", ":12739"},
		{"CLUSTER KEYSLOT {123456789}.x", ":12739"},
		{"CLUSTER KEYSLOT {}123456789", ":1951"},
		{"CLUSTER KEYSLOT foo", ":12182"},
		{"CLUSTER KEYSLOT", "-ERR wrong number of arguments for 'cluster|keyslot' command"},
		{"CLUSTER COUNTKEYSINSLOT 12182", ":0"},
		{"CLUSTER COUNTKEYSINSLOT x", "-ERR value is not an integer or out of range"},
		{"CLUSTER COUNTKEYSINSLOT 16384", "-ERR Invalid slot"},
		{"READONLY", "+OK"}, {"READWRITE", "+OK"}, {"ASKING", "+OK"},
		{"CONFIG GET cluster-enabled", `["cluster-enabled" "yes"]`},
	} {
		if got := b.line(tt.line); got != tt.want {
			t.Errorf("%s = %s, want %s", tt.line, got, tt.want)
		}
	}
	b.lines("SET foo 1", "SET {foo}bar 1", "SET other 1")
	if got := b.line("CLUSTER COUNTKEYSINSLOT 12182"); got != ":2" {
		t.Errorf("CLUSTER COUNTKEYSINSLOT = %s, want 2", got)
	}
	nodes := b.exec([][]byte{[]byte("CLUSTER"), []byte("NODES")})[0].Text
	want := id(1) + " 10.0.0.1:6379@0 master - 0 1700000000000 1 connected 0-5460\n" +
		id(2) + " 10.0.0.2:6379@0 myself,master - 0 0 2 connected 5461-10921\n" +
		id(3) + " 10.0.0.3:6379@0 master,fail - 0 0 3 disconnected\n" +
		id(5) + " ::1:6380@0 master - 0 0 5 connected 10922-16383\n"
	if nodes != want {
		t.Errorf("CLUSTER NODES =\n%s\nwant\n%s", nodes, want)
	}
	shards := b.exec([][]byte{[]byte("CLUSTER"), []byte("SHARDS")})[0].Elems
	if len(shards) != 4 || show(shards[2].Elems[1]) != "[]" || !strings.Contains(show(shards[2]), `"health" "fail"`) || show(shards[1].Elems[1]) != "[:5461 :10921]" {
		t.Errorf("CLUSTER SHARDS = %v", shards)
	}
	roles := regexp.MustCompile(`"endpoint" "([^"]*)" "role" "([^"]*)"`)
	for i, want := range []string{
		"10.0.0.1 master 10.0.0.2 replica ::1 replica", "10.0.0.2 master ::1 replica 10.0.0.1 replica",
		"10.0.0.3 master", "::1 master 10.0.0.1 replica 10.0.0.2 replica",
	} {
		var got []string
		for _, m := range roles.FindAllStringSubmatch(show(shards[i]), -1) {
			got = append(got, m[1:]...)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("CLUSTER SHARDS: shard %d has %v, want %s", i, got, want)
		}
	}
	const all = "cluster_state:ok cluster_slots_assigned:16384 cluster_slots_ok:16384 cluster_slots_pfail:0 cluster_slots_fail:0 cluster_known_nodes:4 " +
		"cluster_size:3 cluster_current_epoch:5 cluster_my_epoch:2 cluster_stats_messages_sent:10 cluster_stats_messages_received:22"
	if got := strings.Join(strings.Fields(b.exec([][]byte{[]byte("CLUSTER"), []byte("INFO")})[0].Text), " "); got != all {
		t.Errorf("CLUSTER INFO\n got %s\nwant %s", got, all)
	}
	info := b.exec([][]byte{[]byte("INFO")})[0].Text
	for _, want := range []string{
		"redis_mode:cluster\r\n", "cluster_enabled:1\r\n", "cluster_name:c1\r\n", "cluster_node:2\r\n", "cluster_nodes_live:3\r\n", "cluster_quorum:1\r\n", "cluster_lag:3\r\n",
		"cluster_lane_D1:applied=4,head=7,leader=,flight=0,waiting=0\r\n", "cluster_problem_0:n3 is away for long\r\n",
	} {
		if !strings.Contains(info, want) {
			t.Errorf("INFO has no %q", want)
		}
	}
	if got := b.line("HELLO 3"); !strings.Contains(got, `"mode" "cluster"`) {
		t.Errorf("HELLO = %s", got)
	}
	d.status.Quorum = false
	if got := b.exec([][]byte{[]byte("CLUSTER"), []byte("INFO")})[0].Text; !strings.HasPrefix(got, "cluster_state:fail\r\n") {
		t.Errorf("CLUSTER INFO without a quorum = %q", got)
	}
	d.status.Nodes[0].Shut = true // it ends: no client is to come
	if got, want := b.line("CLUSTER SLOTS"), "[[:0 :8191 "+second+" "+fifth+"] [:8192 :16383 "+fifth+" "+second+"]]"; got != want {
		t.Errorf("CLUSTER SLOTS while a node ends = %s, want %s", got, want)
	}
}

// TestSlotsAreSplit asks that the live nodes share all slots, whatever their number.
func TestSlotsAreSplit(t *testing.T) {
	for n := 1; n <= 20; n++ {
		b, d := newShared(t, 1<<30)
		for i := range n {
			d.status.Nodes = append(d.status.Nodes, status.Node{Number: uint32(i + 1), Addr: fmt.Sprint("h:", i+1), Live: true, Self: i == 0})
		}
		next := int64(0)
		for _, row := range b.exec([][]byte{[]byte("CLUSTER"), []byte("SLOTS")})[0].Elems {
			if first, last := row.Elems[0].N, row.Elems[1].N; first != next || last < first {
				t.Errorf("%d nodes: slots %d to %d behind %d", n, first, last, next)
			}
			next = row.Elems[1].N + 1
			nodes := map[string]bool{}
			for _, node := range row.Elems[2:] {
				nodes[show(node)] = true
			}
			if want := min(n, 16); len(nodes) != want || len(row.Elems) != 2+want {
				t.Errorf("%d nodes: %d of them, %d different ones, answer for a range, want %d", n, len(row.Elems)-2, len(nodes), want)
			}
		}
		if next != 16384 {
			t.Errorf("%d nodes share %d slots", n, next)
		}
	}
}

// TestNoClusterCommands asks that a server without a cluster, and one whose clients
// are not told of theirs, answer as a Redis without one does.
func TestNoClusterCommands(t *testing.T) {
	alone := newBench(t, 1<<30)
	untold, d := newShared(t, 1<<30)
	d.status = threeNodes
	untold.engine = engine.New(engine.Config{Commands: command.All(), State: untold.state, Door: d, Keeper: untold.door.Door, Host: untold, MaxMemory: 1 << 30, Clock: untold.clock, Plain: true})
	for _, b := range []*bench{alone, untold} {
		for _, line := range []string{
			"CLUSTER SLOTS", "CLUSTER SHARDS", "CLUSTER NODES", "CLUSTER INFO", "CLUSTER MYID", "CLUSTER KEYSLOT", "CLUSTER KEYSLOT x", "CLUSTER COUNTKEYSINSLOT 1", "READONLY", "READWRITE", "ASKING",
		} {
			if got := b.line(line); got != "-ERR This instance has cluster support disabled" {
				t.Errorf("%s = %s", line, got)
			}
		}
		info := b.exec([][]byte{[]byte("INFO")})[0].Text
		if !strings.Contains(info, "cluster_enabled:0\r\n") || !strings.Contains(info, "redis_mode:standalone\r\n") {
			t.Errorf("INFO = %s", info)
		}
		if got := b.line("CONFIG GET cluster-enabled"); got != `["cluster-enabled" "no"]` {
			t.Errorf("CONFIG GET cluster-enabled = %s", got)
		}
	}
	if info := alone.exec([][]byte{[]byte("INFO"), []byte("cluster")})[0].Text; info != "# Cluster\r\ncluster_enabled:0\r\n" {
		t.Errorf("INFO cluster = %q", info)
	}
}
