//go:build unix

// Tests of cluster join, leave, replace-log and upgrade.

package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bloomery/bloomery/internal/ports"
)

var memberNodes = flag.Bool("cluster-members", false, "run TestClusterNodesComeAndGo")

// scripted is a node that answers as a test says, and notes what it is asked.
type scripted struct {
	mu      sync.Mutex
	answers map[string][]string // by command, in turn; the last one stays
	asked   []string
}

const scriptedInfo = "cluster_name:c1\r\ncluster_id:abc\r\ncluster_node:1\r\ncluster_nodes:3\r\ncluster_nodes_live:3\r\ncluster_serving:1\r\ncluster_quorum:1\r\ncluster_decider:2\r\n" +
	"cluster_lane_CAT:applied=7,head=7,leader=join2-x,flight=0,waiting=0\r\n" +
	"cluster_node_1:addr=10.0.0.1:6379,live=1,log=1,server=join1-y,level=1\r\ncluster_node_2:addr=10.0.0.2:6379,live=1,log=1,server=join2-x,level=1\r\n" +
	"cluster_node_4:addr=10.0.0.4:6379,live=1,log=0,server=node-z,level=1,awaited=0,trip_us=231\r\n"

// serve returns the address of the node.
func (s *scripted) serve(t *testing.T) string {
	t.Helper()
	return answering(t, func(words []string) []byte { return []byte(s.reply(strings.Join(words, " "))) })
}

func (s *scripted) reply(command string) string {
	if command == "INFO cluster" {
		return fmt.Sprintf("$%d\r\n%s\r\n", len(scriptedInfo), scriptedInfo)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, command)
	list := s.answers[command]
	if len(list) == 0 {
		return "-ERR unknown command\r\n"
	}
	s.answers[command] = list[min(1, len(list)-1):]
	return list[0]
}

// whyReply is a reply to CLUSTER WHY, and whyPrinted what is printed of it.
var whyReply = func() string {
	text := "node:1\r\nkind:bloomery-fl\r\nid:7\r\nrebuild:open\r\n" +
		"part_0:shard=7,lane=D1,applied=5,head=5,here=1,holds=1 2,learns=,retires=\r\n" +
		"part_1:shard=8,lane=D1,applied=5,head=5,here=1,holds=1 2,learns=,retires=\r\n" +
		"part_2:shard=9,lane=D2,applied=5,head=6,here=0,holds=2 3,learns=4,retires=\r\n" +
		"part_3:shard=10,lane=W,applied=5,head=6,here=1,holds=,learns=,retires=\r\n" +
		"wait_0:part 2: node 4 learns it\r\n"
	return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text)
}()

const whyPrinted = `k: bloomery-fl, id 7, 4 parts; asked at node 1, rebuild open

PARTS  SHARDS  LANE  APPLIED  HEAD  HOLD IT      LEARN IT  LET GO
0,1    7,8     D1    5        5     1, 2         -         -
2      9       D2    5        6     2, 3 (down)  4         -
3      10      W     5        6     every node   -         -

waits: part 2: node 4 learns it
`

// logStep is a reply to CLUSTER REPLACE-LOG.
func logStep(state int, text string) string {
	return fmt.Sprintf("*2\r\n:%d\r\n$%d\r\n%s\r\n", state, len(text), text)
}

// TestClusterChanges asks what the commands send, and what they print of the answers.
func TestClusterChanges(t *testing.T) {
	for name, tt := range map[string]struct {
		args    string
		answers map[string][]string
		code    int
		out     string // a part of what is printed
		asked   string
	}{
		"leave":           {"leave 4 --yes", map[string][]string{"CLUSTER FORGET 4 WAIT": {"+OK\r\n"}}, 0, "node 4 (10.0.0.4:6379) was removed", "CLUSTER FORGET 4 WAIT"},
		"by address":      {"leave 10.0.0.4:6379 --yes", map[string][]string{"CLUSTER FORGET 4 WAIT": {"+OK\r\n"}}, 0, "node 4", "CLUSTER FORGET 4 WAIT"},
		"unconfirmed":     {"leave 4", nil, 2, "nothing was done: node 4 (10.0.0.4:6379) would be removed", ""},
		"a log node":      {"leave 2 --yes", map[string][]string{"CLUSTER FORGET 2 WAIT": {"-ERR node 2 keeps the log\r\n"}}, 2, "node 2 keeps the log", "CLUSTER FORGET 2 WAIT"},
		"nobody":          {"leave 9 --yes", nil, 2, "there is no node 9", "CLUSTER FORGET 9 WAIT"},
		"has left":        {"leave 3 --yes", map[string][]string{"CLUSTER FORGET 3 WAIT": {"+OK\r\n"}}, 0, "node 3 has left", "CLUSTER FORGET 3 WAIT"},
		"replace":         {"replace-log 2 4 --yes", map[string][]string{"CLUSTER REPLACE-LOG 2 4": {logStep(0, "first"), logStep(0, "first"), "-ERR an election\r\n", logStep(1, "last")}}, 0, "first\nlast\n", "CLUSTER REPLACE-LOG 2 4"},
		"goes on":         {"replace-log 3 4 --yes", map[string][]string{"CLUSTER REPLACE-LOG 3 4": {logStep(1, "last")}}, 0, "last\n", "CLUSTER REPLACE-LOG 3 4"},
		"waits":           {"replace-log 2 4 --yes", map[string][]string{"CLUSTER REPLACE-LOG 2 4": {logStep(-1, "replace-log: node 1 is not well"), logStep(-1, "replace-log: node 1 is not well"), logStep(1, "last")}}, 0, "waiting: node 1 is not well\nlast\n", "CLUSTER REPLACE-LOG 2 4"},
		"waits for long":  {"replace-log 2 4 --yes --timeout 1ms", map[string][]string{"CLUSTER REPLACE-LOG 2 4": {logStep(-1, "node 1 is not well")}}, 2, "nothing was changed: node 1 is not well\nhint: run the command again when the nodes are well", "CLUSTER REPLACE-LOG 2 4"},
		"refused":         {"replace-log 2 4 --yes", map[string][]string{"CLUSTER REPLACE-LOG 2 4": {"-ERR node 1 is not well\r\n"}}, 2, "node 1 is not well", "CLUSTER REPLACE-LOG 2 4"},
		"not finished":    {"replace-log 2 4 --yes --timeout 1ms", map[string][]string{"CLUSTER REPLACE-LOG 2 4": {logStep(0, "first")}}, 2, "run the command again", "CLUSTER REPLACE-LOG 2 4"},
		"not confirmed":   {"replace-log 2 4", nil, 2, "nothing was done: node 2 would be removed", ""},
		"something else":  {"replace-log 2 4 --yes", map[string][]string{"CLUSTER REPLACE-LOG 2 4": {"+OK\r\n"}}, 2, "is not a step", "CLUSTER REPLACE-LOG 2 4"},
		"no such new one": {"replace-log 2 9 --yes", nil, 2, "there is no node 9", ""},
		"upgrade":         {"upgrade", map[string][]string{"CLUSTER UPGRADE": {":3\r\n"}}, 0, "level 3", "CLUSTER UPGRADE"},
		"held back":       {"upgrade", map[string][]string{"CLUSTER UPGRADE": {"-ERR node 2 can do 1\r\n"}}, 2, "node 2 can do 1", "CLUSTER UPGRADE"},
		"drains":          {"leave 4 --yes", map[string][]string{"CLUSTER FORGET 4 WAIT": {"+WAIT 12 shards\r\n", "+OK\r\n"}}, 0, "node 4 (10.0.0.4:6379) was removed", "CLUSTER FORGET 4 WAIT"},
		"copies":          {"copies 2 --yes", map[string][]string{"CLUSTER COPIES 2": {"+OK\r\n"}}, 0, "2 nodes are to hold the contents of each filter for good", "CLUSTER COPIES 2"},
		"copies, unsure":  {"copies 2", nil, 2, "nothing was done: contents would be spread over the nodes, which cannot be undone", ""},
		"copies, force":   {"copies 2 --yes --force", map[string][]string{"CLUSTER COPIES 2 FORCE": {"+OK\r\n"}}, 0, "2 nodes are to hold", "CLUSTER COPIES 2 FORCE"},
		"rebuilds open":   {"copies 2 --yes", map[string][]string{"CLUSTER COPIES 2": {"-ERR rebuilds are open that this would end: a, b\r\n"}}, 2, "would end: a, b\nhint: --force ends them\n", "CLUSTER COPIES 2"},
		"too many":        {"copies 9 --yes", map[string][]string{"CLUSTER COPIES 9": {"-ERR there can be 2 to 5\r\n"}}, 2, "there can be 2 to 5", "CLUSTER COPIES 9"},
		"pause":           {"pause-moves", map[string][]string{"CLUSTER PAUSE-MOVES": {"+OK\r\n"}}, 0, "no move begins", "CLUSTER PAUSE-MOVES"},
		"resume":          {"resume-moves", map[string][]string{"CLUSTER RESUME-MOVES": {"+OK\r\n"}}, 0, "move again", "CLUSTER RESUME-MOVES"},
		"rebalance":       {"rebalance", map[string][]string{"CLUSTER REBALANCE": {"*1\r\n*5\r\n:4\r\n:256\r\n:3145728\r\n:7\r\n:1\r\n"}}, 0, "4     256       3 MiB  7s    1\n\nthe moves have begun", "CLUSTER REBALANCE"},
		"dry run":         {"rebalance --dry-run --json", map[string][]string{"CLUSTER REBALANCE DRYRUN": {"*1\r\n*5\r\n:4\r\n:256\r\n:3145728\r\n:7\r\n:1\r\n"}}, 0, `"bytes":3145728`, "CLUSTER REBALANCE DRYRUN"},
		"balanced":        {"rebalance", map[string][]string{"CLUSTER REBALANCE": {"*0\r\n"}}, 0, "nothing has to move", "CLUSTER REBALANCE"},
		"no moves":        {"rebalance", map[string][]string{"CLUSTER REBALANCE": {"*1\r\n:5\r\n"}}, 2, "not a list of moves", "CLUSTER REBALANCE"},
		"why":             {"status --why k", map[string][]string{"CLUSTER WHY k": {whyReply}}, 1, whyPrinted, "CLUSTER WHY k"},
		"why as JSON":     {"status --why k --json", map[string][]string{"CLUSTER WHY k": {whyReply}}, 1, `{"part":2,"shard":9,"lane":"D2","applied":5,"head":6,"here":false,"holds":[2,3],"learns":[4]}`, "CLUSTER WHY k"},
		"why a string":    {"status --why k", map[string][]string{"CLUSTER WHY k": {"$27\r\nnode:1\r\nkind:string\r\nid:7\r\n\r\n"}}, 0, "k: string, id 7, 0 parts; asked at node 1\nnames and strings are on every node\nit waits for nothing\n", "CLUSTER WHY k"},
		"why nothing":     {"status --why k", map[string][]string{"CLUSTER WHY k": {"-ERR no such key\r\n"}}, 2, "no such key", "CLUSTER WHY k"},
		"why no reply":    {"status --why k", map[string][]string{"CLUSTER WHY k": {"+OK\r\n"}}, 2, "invalid reply", "CLUSTER WHY k"},
		"status":          {"status", nil, 0, "CAT   7        7     node 2\n", ""},
		"who keeps it":    {"status", nil, 0, "4     10.0.0.4:6379  up         231 µs      no         node-z\n", ""},
	} {
		s := &scripted{answers: tt.answers}
		addr := s.serve(t)
		code, out, errOut := call(t, append(append([]string{"cluster"}, strings.Fields(tt.args)...), "--addr", addr)...)
		text := strings.ReplaceAll(out+errOut, addr, "ADDR")
		s.mu.Lock()
		asked := ""
		if len(s.asked) > 0 {
			asked = s.asked[0]
		}
		s.mu.Unlock()
		if code != tt.code || !strings.Contains(text, tt.out) || asked != tt.asked {
			t.Errorf("%s: exit code %d, asked %q, printed\n%swant %d, %q, %q", name, code, asked, text, tt.code, tt.asked, tt.out)
		}
	}
}

// TestReplaceLogSaysWhatItWaitsFor asks that the reason of a wait is printed once, in plain
// words, if it takes longer than usual.
func TestReplaceLogSaysWhatItWaitsFor(t *testing.T) {
	away := "-ERR replace-log: node 3 does not answer\r\n"
	for name, tt := range map[string]struct {
		usual time.Duration
		want  string
	}{
		"usual":  {time.Hour, "moves\ndone\n"},
		"longer": {0, "moves\nwaiting: node 3 does not answer\ndone\n"},
	} {
		script := &scripted{answers: map[string][]string{"CLUSTER REPLACE-LOG 2 4": {"*2\r\n:0\r\n$5\r\nmoves\r\n", away, away, "*2\r\n:1\r\n$4\r\ndone\r\n"}}}
		var out strings.Builder
		sh := &shell{out: &out, errOut: &out, lookup: func(string) (string, bool) { return "", false }, terminal: func(any) bool { return false }}
		n, _, err := dialCluster(t.Context(), sh, &connectFlags{addr: script.serve(t)})
		if err != nil {
			t.Fatal(err)
		}
		if err := replaceLog(t.Context(), sh, n, 2, 4, pace{time.Millisecond, tt.usual}); err != nil || out.String() != tt.want {
			t.Errorf("%s: %q, %v, want %q", name, out.String(), err, tt.want)
		}
		n.close()
	}
	// What it waits for when its time is over.
	ctx := expired{t.Context(), make(chan struct{})}
	steps, over := []string{"*2\r\n:0\r\n$5\r\nmoves\r\n", away}, sync.OnceFunc(func() { close(ctx.over) })
	addr := answering(t, func(words []string) []byte {
		if words[0] == "INFO" {
			return []byte(fmt.Sprintf("$%d\r\n%s\r\n", len(scriptedInfo), scriptedInfo))
		}
		reply := steps[0]
		if steps = steps[len(steps)-1:]; reply == away {
			over()
		}
		return []byte(reply)
	})
	sh := &shell{out: io.Discard, errOut: io.Discard, lookup: func(string) (string, bool) { return "", false }, terminal: func(any) bool { return false }}
	n, _, err := dialCluster(t.Context(), sh, &connectFlags{addr: addr})
	if err != nil {
		t.Fatal(err)
	}
	defer n.close()
	if err := replaceLog(ctx, sh, n, 2, 4, pace{time.Millisecond, time.Hour}); err == nil || err.Error() != "it is not finished yet: node 3 does not answer" {
		t.Errorf("when its time is over: %v", err)
	}
	// What was done cannot be printed.
	done := &scripted{answers: map[string][]string{"CLUSTER REPLACE-LOG 2 4": {"*2\r\n:1\r\n$4\r\ndone\r\n"}}}
	full := errors.New("the disk is full")
	sh.out = writerFunc(func([]byte) (int, error) { return 0, full })
	m, _, err := dialCluster(t.Context(), sh, &connectFlags{addr: done.serve(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	if err := replaceLog(t.Context(), sh, m, 2, 4, usualPace); !errors.Is(err, full) {
		t.Errorf("without output: %v", err)
	}
}

// TestReplaceLogAtATerminal asks that the line of a wait is written over and removed, and
// that Ctrl-C ends the wait with what to do.
func TestReplaceLogAtATerminal(t *testing.T) {
	var out, line strings.Builder
	ctx, interrupt := context.WithCancel(t.Context())
	asked := 0
	addr := answering(t, func(words []string) []byte {
		if words[0] == "INFO" {
			return []byte(fmt.Sprintf("$%d\r\n%s\r\n", len(scriptedInfo), scriptedInfo))
		}
		if asked++; asked == 3 {
			interrupt()
		}
		return []byte(logStep(-1, "replace-log: node 1 is not well"))
	})
	sh := &shell{out: &out, errOut: &line, lookup: func(string) (string, bool) { return "", false }, terminal: func(any) bool { return true }, width: func(any) int { return 80 }}
	n, _, err := dialCluster(t.Context(), sh, &connectFlags{addr: addr})
	if err != nil {
		t.Fatal(err)
	}
	defer n.close()
	err = replaceLog(ctx, sh, n, 2, 4, pace{time.Millisecond, time.Hour})
	if exitCode(err) != exitInterrupted || hintOf(err) != "nothing was changed: node 1 is not well; run the command again when the nodes are well" {
		t.Errorf("error %v, hint %q", err, hintOf(err))
	}
	const shown = "waiting for 0s: node 1 is not well"
	if out.String() != "" || !strings.HasPrefix(line.String(), eraseLine+shown) || !strings.HasSuffix(line.String(), eraseLine) {
		t.Errorf("printed %q, shown %q", out.String(), line.String())
	}
}

// TestJoinNeedsSettings asks a node that does not answer what its settings are.
func TestJoinNeedsSettings(t *testing.T) {
	code, out, errOut := call(t, "cluster", "join", "--addr", (&scripted{}).serve(t), "--cluster-addr", "127.0.0.1:1")
	if code != 2 || !strings.Contains(errOut, "unknown command") {
		t.Errorf("cluster join = %d\n%s%s", code, out, errOut)
	}
}

// TestClusterNodesComeAndGo is the life of a cluster whose nodes are replaced: one that
// is up, one that has lost its folder, and one that is removed.
func TestClusterNodesComeAndGo(t *testing.T) {
	if !*memberNodes {
		t.Skip("moving streams takes a minute: -cluster-members runs it")
	}
	n := newNodes(t)
	n.peers = append(n.join[:3:3], ports.Free(t, 2)...)
	n.addrs = append(n.addrs, ports.Free(t, 2)...)
	n.cmds = append(n.cmds, nil, nil)
	n.start(t, 0, 1, 2)
	secret := filepath.Join(n.dir, "secret")
	if code, out, errOut := call(t, "cluster", "join", "--addr", n.addrs[0], "--cluster-addr", n.peers[3], "--cluster-secret-file", secret); code != 0 || !strings.Contains(out, "--join "+strings.Join(n.join, ",")+" --cluster-addr "+n.peers[3]) {
		t.Fatalf("cluster join exits with %d:\n%s%s", code, out, errOut)
	}
	wrong := filepath.Join(n.dir, "wrong")
	if err := os.WriteFile(wrong, []byte("another secret of the tests, as long\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, _ := call(t, "cluster", "join", "--addr", n.addrs[0], "--cluster-addr", n.peers[3], "--cluster-secret-file", wrong); code != 1 || !strings.Contains(out, "not let in") {
		t.Fatalf("cluster join with a wrong secret exits with %d:\n%s", code, out)
	}
	n.start(t, 3, 4)
	addUntil(t, n.addrs[4], "first")
	change := func(at int, args ...string) {
		t.Helper()
		for end := time.Now().Add(clusterPatience); ; time.Sleep(time.Second) {
			code, out, errOut := call(t, append(append([]string{"cluster"}, args...), "--yes", "--addr", n.addrs[at])...)
			if code == 0 {
				t.Logf("%q:\n%s", args, out)
				return
			}
			if time.Now().After(end) { // elections have to end first
				t.Fatalf("%q exits with %d:\n%s%s", args, code, out, errOut)
			}
		}
	}
	// One that is up: it stops, and does not come back.
	change(0, "replace-log", n.number(t, 1), n.number(t, 3))
	n.stopped(t, 1)
	if err := n.startOne(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "removed from its cluster") {
		t.Fatalf("a node that was removed starts: %v", err)
	}
	n.cmds[1] = nil
	// One that has lost its folder: it is a new node.
	lostNode := n.number(t, 2)
	n.kill(2)
	if err := os.RemoveAll(filepath.Join(n.dir, "n3")); err != nil {
		t.Fatal(err)
	}
	n.start(t, 2)
	if n.number(t, 2) == lostNode {
		t.Fatal("a node without a folder has its old number")
	}
	if code, _, errOut := call(t, "cluster", "leave", lostNode, "--yes", "--addr", n.addrs[0]); code != 2 || !strings.Contains(errOut, "replace-log") {
		t.Errorf("a log node leaves: %d, %s", code, errOut)
	}
	change(3, "replace-log", lostNode, n.number(t, 2))
	// One that keeps no log.
	change(0, "leave", n.number(t, 4))
	n.stopped(t, 4)
	statusShows(t, n.addrs[2], "3 of 3 nodes are up")
	// The new ones are log nodes as the first was.
	n.kill(0)
	addUntil(t, n.addrs[3], "second")
	n.start(t, 0)
	n.exchange(t, []string{n.addrs[0], n.addrs[2], n.addrs[3]}, "third")
	nc := dial(t, n.addrs[0])
	if replies, err := talk(nc, bufio.NewReader(nc), "BF.EXISTS fourth first", "BF.EXISTS fourth second"); err != nil || strings.Join(replies, "") != ":1:1" {
		t.Errorf("what was added = %q, %v", replies, err)
	}
}

// number returns the number that a node has.
func (n *nodes) number(t *testing.T, i int) string {
	t.Helper()
	nc := dial(t, n.addrs[i])
	defer func() { _ = nc.Close() }()
	text, err := askText(nc, bufio.NewReader(nc), "INFO", "cluster")
	if err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(parseClusterInfo(text).Node)
}

// stopped waits for the end of a node that was removed.
func (n *nodes) stopped(t *testing.T, i int) {
	t.Helper()
	late := time.AfterFunc(clusterPatience, func() { _ = n.cmds[i].Process.Kill() })
	defer late.Stop()
	err := n.cmds[i].Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != exitBad {
		t.Errorf("node %d, which was removed, ends with %v, want exit code %d", i+1, err, exitBad)
	}
	n.cmds[i] = nil
}
