package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/command"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/status"
)

// memberDoor notes how its cluster is to be changed.
type memberDoor struct {
	*sharedDoor
	asked string
	err   error
}

func (d *memberDoor) Remove(node uint32) error {
	d.asked = fmt.Sprint("remove ", node)
	return d.err
}

func (d *memberDoor) Replace(old, with uint32) (string, bool, error) {
	d.asked = fmt.Sprint("replace ", old, " ", with)
	return "streams move", old == 3, d.err
}

func (d *memberDoor) Upgrade() (uint64, error) {
	d.asked = "upgrade"
	return 7, d.err
}

func (d *memberDoor) SetCopies(n int) error {
	d.asked = fmt.Sprint("copies ", n)
	return d.err
}

func (d *memberDoor) PauseMoves(paused bool) error {
	d.asked = fmt.Sprint("pause ", paused)
	return d.err
}

func (d *memberDoor) Rebalance(begin bool) ([]status.Moves, error) {
	d.asked = fmt.Sprint("rebalance ", begin)
	return []status.Moves{{Node: 4, Learns: 256, Bytes: 3 << 20, Takes: 6500 * time.Millisecond, Retires: 1}}, d.err
}

// TestClusterChanges asks what operators are answered who change a cluster.
func TestClusterChanges(t *testing.T) {
	b, shared := newShared(t, 1<<30)
	shared.status = threeNodes
	d := &memberDoor{sharedDoor: shared}
	b.engine = engine.New(engine.Config{Commands: command.All(), State: b.state, Door: d, Keeper: b.door.Door, Host: b, MaxMemory: 1 << 30, Clock: b.clock, Plain: true})
	id := fmt.Sprintf("%016X%024X", 0xabc, 3)
	for _, tt := range []struct {
		line        string
		err         error
		want, asked string
	}{
		{"CLUSTER FORGET 3", nil, "+OK", "remove 3"},
		{"CLUSTER FORGET " + id, nil, "+OK", "remove 3"},
		{"CLUSTER FORGET 3", errors.New("cluster: it keeps\nthe log"), "-ERR it keeps the log", "remove 3"},
		{"CLUSTER FORGET 3", fmt.Errorf("%w: test", door.ErrDown), "-CLUSTERDOWN nothing was changed (test)", "remove 3"},
		{"CLUSTER FORGET 3", fmt.Errorf("%w: test", door.ErrUnknown), "-UNKNOWN the change may have been made or not: send the command again (test)", "remove 3"},
		{"CLUSTER FORGET 3", door.ErrNotYet, "-TRYAGAIN nothing was changed: ", "remove 3"},
		{"CLUSTER FORGET 3 WAIT", door.ErrNotYet, "+WAIT ", "remove 3"},
		{"CLUSTER FORGET 3 WAIT", nil, "+OK", "remove 3"},
		{"CLUSTER FORGET 3 NOW", nil, "-ERR syntax error", ""},
		{"CLUSTER REPLACE-LOG 2 5", door.ErrNotYet, "[:-1 ", "replace 2 5"},
		{"CLUSTER FORGET 9", nil, "-ERR Unknown node 9", ""},
		{"CLUSTER FORGET 0", nil, "-ERR Unknown node 0", ""},
		{"CLUSTER FORGET 4294967299", nil, "-ERR Unknown node 4294967299", ""},
		{"CLUSTER FORGET -1", nil, "-ERR Unknown node -1", ""},
		{"CLUSTER FORGET " + strings.Repeat("x", 70), nil, "-ERR Unknown node " + strings.Repeat("x", 64) + "$", ""},
		{"CLUSTER FORGET", nil, "-ERR wrong number of arguments", ""},
		{"CLUSTER REPLACE-LOG 2 5", nil, `[:0 "streams move"]`, "replace 2 5"},
		{"CLUSTER REPLACE-LOG 3 5", nil, `[:1 "streams move"]`, "replace 3 5"},
		{"CLUSTER REPLACE-LOG 3 5", errors.New("cluster: node 1 is ill"), "-ERR node 1 is ill", "replace 3 5"},
		{"CLUSTER REPLACE-LOG 2 x", nil, "-ERR Unknown node x", ""},
		{"CLUSTER REPLACE-LOG 2", nil, "-ERR wrong number of arguments", ""},
		{"CLUSTER UPGRADE", nil, ":7", "upgrade"},
		{"CLUSTER UPGRADE", errors.New("cluster: upgrade: node 3 can do 1"), "-ERR upgrade: node 3 can do 1", "upgrade"},
		{"CLUSTER COPIES 2", nil, "+OK. It cannot be undone", "copies 2"},
		{"CLUSTER COPIES two", nil, "-ERR value is not an integer", ""},
		{"CLUSTER COPIES 9", errors.New("cluster: copies: 9"), "-ERR copies: 9", "copies 9"},
		{"CLUSTER PAUSE-MOVES", nil, "+OK", "pause true"},
		{"CLUSTER RESUME-MOVES", nil, "+OK", "pause false"},
		{"CLUSTER REBALANCE", nil, "[[:4 :256 :3145728 :7 :1]]", "rebalance true"},
		{"CLUSTER REBALANCE DRYRUN", nil, "[[:4 :256 :3145728 :7 :1]]", "rebalance false"},
		{"CLUSTER REBALANCE now", nil, "-ERR syntax error", ""},
		{"CLUSTER UPGRADE 2", nil, "-ERR wrong number of arguments", ""},
	} {
		d.asked, d.err = "", tt.err
		if got := b.line(tt.line) + "$"; !strings.HasPrefix(got, tt.want) || d.asked != tt.asked {
			t.Errorf("%s = %s, asked %q; want %s, %q", tt.line, got, d.asked, tt.want, tt.asked)
		}
	}
	alone := newBench(t, 1<<30)
	for _, line := range []string{"CLUSTER FORGET 1", "CLUSTER REPLACE-LOG 1 2", "CLUSTER UPGRADE", "CLUSTER COPIES 2", "CLUSTER PAUSE-MOVES", "CLUSTER REBALANCE"} {
		if got := alone.line(line); got != "-ERR This instance has cluster support disabled" {
			t.Errorf("%s without a cluster = %s", line, got)
		}
	}
	if got := b.line("ACL SETUSER reader on nopass ~* +@all -@admin"); got != "+OK" {
		t.Fatal(got)
	}
	if got := b.line("ACL DRYRUN reader CLUSTER FORGET 3"); strings.HasPrefix(got, "+OK") {
		t.Errorf("a user without @admin may remove a node: %s", got)
	}
	info := b.exec([][]byte{[]byte("INFO"), []byte("cluster")})[0].Text
	if want := "cluster_node_3:addr=10.0.0.3:6379,live=0,log=0,server=,level=0,awaited=0\r\n"; !strings.Contains(info, want) || strings.Contains(info, "cluster_node_4:") {
		t.Errorf("INFO cluster = %s, want %s and no node that was removed", info, want)
	}
}
