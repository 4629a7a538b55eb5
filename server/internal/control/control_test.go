package control_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/command/commandtest"
	"github.com/bloomery/bloomery/server/internal/control"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/status"
)

// keeper notes what is done to a disk, and fails on demand.
type keeper struct {
	door.Keeper
	did             []string
	snapshot, check error
}

func (k *keeper) note(what string, err error) error {
	k.did = append(k.did, what)
	return err
}

func (k *keeper) Snapshot() error      { return k.note("snapshot", k.snapshot) }
func (k *keeper) StartSnapshot() error { return k.note("start", k.snapshot) }
func (k *keeper) Status() status.Disk  { return status.Disk{Kept: true} }
func (k *keeper) Verify() error        { return k.note("verify", k.check) }

// TestDisk saves and verifies: what takes long is announced before it begins, and nothing is
// verified that was not saved.
func TestDisk(t *testing.T) {
	for _, tt := range []struct {
		do       func(control.Disk) answer.Reply
		save     error
		check    error
		reply    string
		happened string
	}{
		{control.Disk.Save, nil, nil, "+OK", "waits for snapshot, snapshot"},
		{control.Disk.Save, status.ErrSaving, nil, "-ERR Background save already in progress", "waits for snapshot, snapshot"},
		{control.Disk.Save, errors.New("no\nroom"), nil, "-ERR no room", "waits for snapshot, snapshot"},
		{control.Disk.SaveSoon, nil, nil, "+Background saving started", "start"},
		{control.Disk.SaveSoon, status.ErrSaving, nil, "-ERR Background save already in progress", "start"},
		{control.Disk.Verify, nil, nil, "+OK", "waits for verify, snapshot, verify"},
		{control.Disk.Verify, nil, errors.New("a bad sum"), "-ERR a bad sum", "waits for verify, snapshot, verify"},
		{control.Disk.Verify, errors.New("no room"), nil, "-ERR no room", "waits for verify, snapshot"},
	} {
		k := &keeper{snapshot: tt.save, check: tt.check}
		d := control.NewDisk(k, func(what string) { k.did = append(k.did, "waits for "+what) })
		if got := commandtest.Show(tt.do(d)); got != tt.reply {
			t.Errorf("%v, %v: %s, want %s", tt.save, tt.check, got, tt.reply)
		}
		if got := strings.Join(k.did, ", "); got != tt.happened {
			t.Errorf("%v, %v: %s, want %s", tt.save, tt.check, got, tt.happened)
		}
	}
	if control.NewDisk(nil, nil).Status().Kept || !control.NewDisk(&keeper{}, nil).Status().Kept {
		t.Error("a server without a disk keeps data, or one with a disk does not")
	}
}

// cluster is a door whose members change, and that hands out copies.
type cluster struct {
	door.Shared
	err    error
	closed []uint64
}

func (c *cluster) Cluster() status.Cluster { return status.Cluster{Node: 5} }
func (c *cluster) Remove(uint32) error     { return c.err }
func (c *cluster) Replace(uint32, uint32) (string, bool, error) {
	return "waits for node 7", false, c.err
}
func (c *cluster) Upgrade() (uint64, error) { return 3, c.err }
func (c *cluster) SetCopies(int) error      { return c.err }
func (c *cluster) PauseMoves(bool) error    { return c.err }
func (c *cluster) Rebalance(bool) ([]status.Moves, error) {
	return []status.Moves{{Node: 4, Learns: 2, Bytes: 30, Takes: time.Millisecond}}, c.err
}
func (c *cluster) OpenCopy(bool) (uint64, []door.CopiedFile, error) {
	return 9, []door.CopiedFile{{Name: "a", Size: 1}, {Name: "b", Size: 2}}, c.err
}
func (c *cluster) ReadCopy(_, _, offset, length uint64) ([]byte, error) {
	return []byte("abcdef")[offset : offset+length], c.err
}
func (c *cluster) CloseCopy(number uint64) { c.closed = append(c.closed, number) }

func ignored(uint64) {}

// operations are all that operators do to a cluster, with the reply if it works.
var operations = map[string]func(control.Cluster) answer.Reply{
	"+OK":                      func(c control.Cluster) answer.Reply { return c.Forget(1, false) },
	`[:0 "waits for node 7"]`:  func(c control.Cluster) answer.Reply { return c.ReplaceLog(1, 2) },
	":3":                       control.Cluster.Upgrade,
	`[:9 [["a" :1] ["b" :2]]]`: func(c control.Cluster) answer.Reply { return c.OpenCopy(false, ignored) },
	`[[:4 :2 :30 :1 :0]]`:      func(c control.Cluster) answer.Reply { return c.Rebalance(true) },
	`"cd"`:                     func(c control.Cluster) answer.Reply { return c.ReadCopy(9, 0, 2, 2) },
}

// TestCluster changes a cluster that lets itself be changed, and asks the same of a server
// that belongs to none.
func TestCluster(t *testing.T) {
	shared := &cluster{}
	waited := ""
	with, without := control.NewCluster(shared, func(what string) { waited += what }), control.NewCluster(nil, nil)
	for want, do := range operations {
		if got := commandtest.Show(do(with)); got != want {
			t.Errorf("in a cluster: %s, want %s", got, want)
		}
		if got := do(without).Text; got != control.TextNoCluster {
			t.Errorf("in none: %s", got)
		}
	}
	if waited != "copy of all data"+"sizes of shards" && waited != "sizes of shards"+"copy of all data" {
		t.Errorf("announced: %q", waited)
	}
	if with.CloseCopy(9); !slices.Equal(shared.closed, []uint64{9}) || without.CloseCopy(9).Text != control.TextNoCluster {
		t.Errorf("copies given up: %d", shared.closed)
	}
	if _, ok := without.Status(); ok {
		t.Error("a server that belongs to no cluster describes one")
	}
	if got, ok := with.Status(); !ok || got.Node != 5 {
		t.Errorf("a server that belongs to a cluster describes %+v, %t", got, ok)
	}
}

// TestChangesThatFail asks that a reply says whether something was changed: nothing, or
// nobody knows.
func TestChangesThatFail(t *testing.T) {
	shared := &cluster{}
	c := control.NewCluster(shared, func(string) {})
	for _, tt := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("%w: node 2 is down", door.ErrNotYet), "TRYAGAIN nothing was changed: door: not yet: node 2 is down"},
		{fmt.Errorf("%w: 3 s", door.ErrUnknown), "UNKNOWN the change may have been made or not: send the command again (3 s)"},
		{fmt.Errorf("%w: no leader", door.ErrDown), "CLUSTERDOWN nothing was changed (no leader)"},
		{errors.New("cluster: there is no node 8"), "ERR there is no node 8"},
	} {
		shared.err = tt.err
		for name, got := range map[string]answer.Reply{"Forget": c.Forget(1, false), "ReplaceLog": c.ReplaceLog(1, 2), "Upgrade": c.Upgrade(),
			"SetCopies": c.SetCopies(2), "PauseMoves": c.PauseMoves(true), "Rebalance": c.Rebalance(false)} {
			if name == "ReplaceLog" && errors.Is(tt.err, door.ErrNotYet) { // it says so without failing
				if shown := commandtest.Show(got); shown != `[:-1 "door: not yet: node 2 is down"]` {
					t.Errorf("%s waits: %s", name, shown)
				}
				continue
			}
			if got.Kind != answer.Error || got.Text != tt.want {
				t.Errorf("%s with %v: %s, want %s", name, tt.err, got.Text, tt.want)
			}
		}
	}
	for err, want := range map[error]string{
		fmt.Errorf("%w: no leader", door.ErrDown):  "CLUSTERDOWN This node cannot find out what other nodes have acknowledged (no leader)",
		fmt.Errorf("%w: 3 s", door.ErrUnknown):     "CLUSTERDOWN This node cannot find out what other nodes have acknowledged (3 s)",
		errors.New("there are two copies already"): "ERR there are two copies already",
	} {
		if shared.err = err; c.OpenCopy(true, ignored).Text != want {
			t.Errorf("OpenCopy with %v: %s, want %s", err, c.OpenCopy(true, ignored).Text, want)
		}
	}
}
