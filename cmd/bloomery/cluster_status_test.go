// Tests of cluster status and cluster secret.

package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
)

// TestClusterStatusSaysWhatItKnows asks for what is printed of nodes that the node
// that was asked has not heard from yet, and of a node that catches up.
func TestClusterStatusSaysWhatItKnows(t *testing.T) {
	info := "cluster_name:c1\r\ncluster_node:1\r\ncluster_nodes:3\r\ncluster_nodes_live:1\r\ncluster_serving:1\r\ncluster_quorum:1\r\n" +
		"cluster_node_1:addr=a:1,live=1,awaited=0\r\ncluster_node_2:addr=b:1,live=0,awaited=1\r\ncluster_node_3:addr=c:1,live=0,awaited=0\r\n"
	for name, tt := range map[string]struct {
		reply string
		code  int
		want  []string
	}{
		"just started": {fmt.Sprintf("$%d\r\n%s\r\n", len(info), info), 1, []string{
			"1 of 3 nodes are up, 1 not heard from yet: node 1 has just started\n", "a:1      up, asked ", "b:1      not heard from yet ", "c:1      down ",
		}},
		"catching up": {"-LOADING this node was paused: it waits\r\n", 2, []string{"this node was paused: it waits", "the log of the node"}},
	} {
		addr := answering(t, func([]string) []byte { return []byte(tt.reply) })
		code, out, errOut := call(t, "cluster", "status", "--addr", addr)
		for _, want := range tt.want {
			if code != tt.code || !strings.Contains(out+errOut, want) {
				t.Errorf("%s: exit code %d, want %d, and %q in\n%s%s", name, code, tt.code, want, out, errOut)
			}
		}
	}
	if code, _, errOut := call(t, "cluster", "upgrade", "--addr", answering(t, func([]string) []byte { return []byte("-LOADING it waits\r\n") })); code != 2 || !strings.Contains(errOut, "the log of the node") {
		t.Errorf("cluster upgrade of a node that catches up: exit code %d, %s", code, errOut)
	}
}

// TestClusterStatusWhereContentsAreSpread asks for what each node holds, and what moves.
func TestClusterStatusWhereContentsAreSpread(t *testing.T) {
	c := parseClusterInfo("cluster_name:c1\r\ncluster_node:1\r\ncluster_decider:1\r\ncluster_copies:2\r\ncluster_moves_paused:1\r\ncluster_shards_below:3\r\ncluster_shards_learning:7\r\n" +
		"cluster_shards_retiring:5\r\ncluster_node_1:addr=a:1,live=1,log=1,server=s,shards=683,learns=7,bytes=3145728\r\n")
	var out bytes.Buffer
	if err := c.write(&shell{out: &out}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		", node 1 leads lane CAT\n",
		"2 copies of contents; shards: 3 below that, 7 being received, 5 being released; moves are paused\n",
		"SHARDS  RECEIVING  LEFT TO RECEIVE  BYTES  SERVER\n", "683     7          0 bytes          3 MiB  s\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, &out)
		}
	}
}

// TestClusterStatusOfMoves asks what moves wait for, and how many bytes are to come. A node that does not say how many
// shows the rest.
func TestClusterStatusOfMoves(t *testing.T) {
	info := "cluster_name:c1\r\ncluster_node:1\r\ncluster_nodes:1\r\ncluster_nodes_live:1\r\ncluster_serving:1\r\ncluster_quorum:1\r\ncluster_copies:2\r\ncluster_moves_wait:for calm\r\n" +
		"cluster_node_1:addr=a:1,live=1,log=1,server=s,shards=683,learns=0,bytes=3145728\r\n"
	for reply, want := range map[string]string{
		"*1\r\n*5\r\n:1\r\n:9\r\n:2097152\r\n:3\r\n:0\r\n": "683     0          2 MiB            3 MiB  s\n",
		"-NOPERM no\r\n":     "683     0          0 bytes          3 MiB  s\n",
		"*1\r\n*1\r\n:1\r\n": "683     0          0 bytes          3 MiB  s\n",
	} {
		addr := answering(t, func(words []string) []byte {
			if words[0] == "INFO" {
				return fmt.Appendf(nil, "$%d\r\n%s\r\n", len(info), info)
			}
			return []byte(reply)
		})
		code, out, errOut := call(t, "cluster", "status", "--addr", addr)
		if code != 0 || !strings.Contains(out, "0 being released\nmoves wait: for calm\n") || !strings.Contains(out, want) {
			t.Errorf("%q: exit code %d, no %q in\n%s%s", reply, code, want, out, errOut)
		}
	}
}

// TestClusterStatusOfARestore asks for a node that has a folder of the restore, and was not started.
func TestClusterStatusOfARestore(t *testing.T) {
	info := "cluster_name:c1\r\ncluster_node:1\r\ncluster_nodes:2\r\ncluster_nodes_live:1\r\ncluster_serving:1\r\ncluster_quorum:1\r\ncluster_copies:2\r\ncluster_shards_below:1024\r\n" +
		"cluster_node_1:addr=a:1,live=1,log=1,server=s,level=4,awaited=0,shards=1024,learns=0,bytes=3145728\r\n" +
		"cluster_node_2:addr=,live=0,log=0,server=,level=0,awaited=0,shards=1024,learns=0,bytes=0\r\ncluster_problem_0:node 2 has not started\r\n"
	addr := answering(t, func([]string) []byte { return fmt.Appendf(nil, "$%d\r\n%s\r\n", len(info), info) })
	code, out, errOut := call(t, "cluster", "status", "--addr", addr)
	for _, want := range []string{"1 of 2 nodes are up\n", "2     -        not started  -           no         1024    0 ", "\nproblem: node 2 has not started\n"} {
		if code != 1 || !strings.Contains(out, want) {
			t.Errorf("exit code %d, want 1, and %q in\n%s%s", code, want, out, errOut)
		}
	}
}

// TestRoundTripText asks for a unit that leaves few digits.
func TestRoundTripText(t *testing.T) {
	for micros, want := range map[int]string{1: "1 µs", 9999: "9,999 µs", 10_000: "10 ms", 273_820: "274 ms", 1_500_000: "1,500 ms"} {
		if got := tripText(micros); got != want {
			t.Errorf("%d microseconds are %q, want %q", micros, got, want)
		}
	}
}

// TestClusterStatusNamesProblems asks that every problem of a node is printed.
func TestClusterStatusNamesProblems(t *testing.T) {
	var out bytes.Buffer
	c := clusterJSON{Problems: []string{"the disk is slow", "a clock is late"}}
	if err := c.write(&shell{out: &out}); err != nil || !strings.HasSuffix(out.String(), "\nproblem: the disk is slow\n\nproblem: a clock is late\n") {
		t.Errorf("%v\n%s", err, &out)
	}
}

// TestClusterStatusInTheOrderOfJoin asks for nodes as --join has them, others after them, and for
// a lane that nobody is known to lead.
func TestClusterStatusInTheOrderOfJoin(t *testing.T) {
	c := parseClusterInfo("cluster_name:c1\r\ncluster_node:1\r\ncluster_lane_CAT:applied=7,head=7,leader=,flight=0,waiting=0\r\n" +
		"cluster_node_1:addr=c:1,live=1,log=1,server=join3-x\r\ncluster_node_2:addr=d:1,live=1,log=0,server=node-d\r\n" +
		"cluster_node_3:addr=a:1,live=1,log=1,server=join1-y\r\ncluster_node_4:addr=e:1,live=1,log=0\r\ncluster_node_7:addr=b:1,live=1,log=1,server=join2-z\r\n")
	var order []string
	for _, n := range c.Nodes {
		order = append(order, n.Addr)
	}
	if got := strings.Join(order, " "); got != "a:1 b:1 c:1 d:1 e:1" {
		t.Errorf("the order is %s", got)
	}
	var out bytes.Buffer
	if err := c.write(&shell{out: &out}); err != nil || !strings.Contains(out.String(), "CAT   7        7     -\n") {
		t.Errorf("%v\n%s", err, &out)
	}
}

// expired is a context whose time is over when a channel is closed.
type expired struct {
	context.Context
	over chan struct{}
}

func (c expired) Done() <-chan struct{} { return c.over }

func (c expired) Err() error {
	select {
	case <-c.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// TestClusterStatusWithoutAnswer asks a server that takes connections and answers
// nothing: the error says so.
func TestClusterStatusWithoutAnswer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx := expired{t.Context(), make(chan struct{})}
	go func() {
		defer close(ctx.over)
		nc, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = nc.Read(make([]byte, 1)) // it has asked
		t.Cleanup(func() { _ = nc.Close() })
	}()
	var out, errOut bytes.Buffer
	code := run(ctx, []string{"cluster", "status", "--addr", l.Addr().String()}, strings.NewReader(""), &out, &errOut)
	if code != 2 || !strings.Contains(errOut.String(), "no answer within") {
		t.Errorf("cluster status = %d, %q", code, errOut.String())
	}
}

// TestFindNode asks that an address which two nodes have names none of them.
func TestFindNode(t *testing.T) {
	c := clusterJSON{Nodes: []clusterNodeJSON{{Number: 1, Addr: "a:1"}, {Number: 2, Addr: "b:1"}, {Number: 3, Addr: "b:1"}}}
	for arg, want := range map[string]int{"1": 1, "a:1": 1, "3": 3, "b:1": 0, "c:1": 0} {
		n, err := c.find(arg)
		if (err == nil) != (want > 0) || err == nil && n.Number != want {
			t.Errorf("find(%s) = %v, %v, want node %d", arg, n, err, want)
		}
	}
}
