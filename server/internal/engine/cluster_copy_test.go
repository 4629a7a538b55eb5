package engine_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bloomery/bloomery/server/internal/command"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door/cluster"
	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/door/local"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// busyFolder runs something when the first part file of a snapshot is made.
type busyFolder struct {
	*folder.Memory
	mu        sync.Mutex
	meanwhile func()
}

func (f *busyFolder) Create(name string) (folder.File, error) {
	f.mu.Lock()
	meanwhile := f.meanwhile
	if strings.HasSuffix(name, ".part") {
		f.meanwhile = nil
	} else {
		meanwhile = nil
	}
	f.mu.Unlock()
	if meanwhile != nil {
		meanwhile()
	}
	return f.Memory.Create(name)
}

// TestCopyOfEveryCommand runs every command that writes while a node is copied. A
// single server that opens the copy has the same data as the node: every kind of
// filter and sketch, strings, deadlines and windows.
func TestCopyOfEveryCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := &busyFolder{Memory: &folder.Memory{}}
		b, d := keptNode(t, memlog.New(1, memlog.Faults{}), files)
		values := setup(b)
		var lines [][]string
		engine.NewTable(command.All()).Walk(func(c *engine.Command) {
			name := c.FullName()
			if c.Flags&(traits.Write|traits.Wrote) == 0 || strings.HasPrefix(name, "flush") {
				return
			}
			for _, line := range samples[name] {
				lines = append(lines, words(line, values))
			}
		})
		refused := 0
		files.meanwhile = func() {
			for i, line := range lines {
				if got := b.do(line...); strings.HasPrefix(got, "-") {
					refused++
				}
				if i == len(lines)/2 { // what was there is gone, and comes again
					b.line("RENAME b other")
					setup(b)
				}
			}
		}
		copied := readAll(t, d)
		if files.meanwhile != nil || len(lines) < 50 || refused > len(lines)/2 {
			t.Fatalf("%d of %d commands were refused", refused, len(lines))
		}
		if err := local.Check(copied); err != nil {
			t.Fatal(err)
		}
		state := store.New()
		defer state.Discard()
		if err := local.Load(copied, state, func() error { return nil }); err != nil {
			t.Fatal(err)
		}
		if got, want := data(state), data(b.state); !bytes.Equal(got, want) {
			t.Errorf("the copy has %d names, its node %d, and they differ", state.Names.Len(), b.state.Names.Len())
		}
		divides(t, copied, state)

		// The same data begins a cluster.
		first := &folder.Memory{}
		f, err := cluster.NewFounding(2, 0, 0)
		if err == nil {
			err = f.Found(first, state, 0, b.clock)
		}
		if err != nil {
			t.Fatal(err)
		}
		other, _ := keptNode(t, memlog.New(1, memlog.Faults{}), first)
		if !bytes.Equal(data(other.state), data(b.state)) {
			t.Error("the cluster that was restored differs")
		}
		if got := other.line("BF.ADD restored item"); got != ":1" {
			t.Errorf("BF.ADD in the cluster that was restored = %s", got)
		}
	})
}

// divides asks that the nodes over which a copy is spread have together what a state has, and in its place
// nothing but what stands for it.
func divides(t *testing.T, copied folder.Folder, want *store.State) {
	t.Helper()
	const nodes, copies = 4, 2
	f, err := cluster.NewFounding(2, nodes, copies)
	if err != nil {
		t.Fatal(err)
	}
	held := map[string]int{}
	for node := range uint32(nodes) {
		state := store.New()
		f.Divide(state, node+1)
		if err := local.Load(copied, state, func() error { return nil }); err != nil {
			t.Fatal(err)
		}
		if err := f.Found(&folder.Memory{}, state, node+1, time.Now); err != nil {
			t.Fatal(err)
		}
		if state.Names.Len() != want.Names.Len() {
			t.Errorf("node %d has %d names, want %d", node+1, state.Names.Len(), want.Names.Len())
		}
		for _, e := range want.Names.All() {
			other := state.Names.ByID(e.ID)
			if other == nil || other.Name() != e.Name() || other.When() != e.When() || other.Kind != e.Kind || store.Text(other) != store.Text(e) {
				t.Errorf("node %d has no %q, or another one", node+1, e.Name())
				continue
			}
			for i, p := range contents.Parts(e) {
				if q := contents.PartAt(other, uint32(i)); state.Answers(q) {
					held[fmt.Sprint(e.Name(), " ", i)]++
					if !bytes.Equal(contentsOf(t, q), contentsOf(t, p)) {
						t.Errorf("node %d has another part %d of %q", node+1, i, e.Name())
					}
				}
			}
		}
		state.Discard()
	}
	for _, e := range want.Names.All() {
		for i := range contents.Parts(e) {
			if n := held[fmt.Sprint(e.Name(), " ", i)]; n != copies && !(contents.Everywhere(e) && n == nodes) {
				t.Errorf("%d nodes hold part %d of %q", n, i, e.Name())
			}
		}
	}
}

// contentsOf returns the contents of a part.
func contentsOf(t *testing.T, p *contents.Part) []byte {
	t.Helper()
	p.Lock()
	defer p.Unlock()
	frozen, err := p.Freeze()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = frozen.Close() }()
	all, buf := make([]byte, frozen.Size()), make([]byte, 64<<10)
	for {
		data, off := frozen.Next(buf)
		if len(data) == 0 {
			return all
		}
		copy(all[off:], data)
	}
}

// keptNode is newNode with a folder.
func keptNode(t *testing.T, log *memlog.Log, files folder.Files) (*bench, *cluster.Door) {
	t.Helper()
	b, d, _ := newNodeOf(t, log, cluster.Config{Files: files, SnapshotAfter: -1})
	return b, d
}

// readAll reads a copy.
func readAll(t *testing.T, d *cluster.Door) *folder.Memory {
	t.Helper()
	number, list, err := d.OpenCopy(false)
	if err != nil {
		t.Fatal(err)
	}
	defer d.CloseCopy(number)
	files := &folder.Memory{}
	for i, f := range list {
		var data []byte
		for off := int64(0); off < f.Size; off += 1000 {
			piece, err := d.ReadCopy(number, uint64(i), uint64(off), uint64(min(1000, f.Size-off)))
			if err != nil {
				t.Fatal(err)
			}
			data = append(data, piece...)
		}
		files.Put(f.Name, data)
	}
	return files
}

// data returns names and contents.
func data(state *store.State) []byte {
	state.Names.Lock()
	defer state.Names.Unlock()
	b := state.AppendSnapshot(nil)
	if r := state.Roster(); r != nil {
		b = bytes.TrimSuffix(b, roster.Append(nil, r))
	}
	return b
}

// TestClusterBackup asks CLUSTER BACKUP for a copy.
func TestClusterBackup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := keptNode(t, memlog.New(1, memlog.Faults{}), &folder.Memory{})
		b.line("BF.ADD f item")
		reply := b.exec([][]byte{[]byte("CLUSTER"), []byte("BACKUP"), []byte("OPEN")})[0]
		if len(reply.Elems) != 2 || reply.Elems[0].N != 1 {
			t.Fatalf("CLUSTER BACKUP OPEN = %+v", reply)
		}
		files := reply.Elems[1].Elems
		last := files[len(files)-1]
		if last.Elems[0].Text != folder.Manifest || last.Elems[1].N == 0 {
			t.Errorf("the last file is %+v", last)
		}
		piece := b.exec([][]byte{[]byte("cluster"), []byte("backup"), []byte("read"), []byte("1"), []byte("0"), []byte("0"), []byte("4")})[0]
		if piece.Text != "blmr" {
			t.Errorf("CLUSTER BACKUP READ = %q", piece.Text)
		}
		for line, want := range map[string]string{
			"CLUSTER BACKUP READ 1 0 0 99999999": "-ERR",
			"CLUSTER BACKUP READ 2 0 0 1":        "-ERR",
			"CLUSTER BACKUP READ 1 0 0":          "-ERR syntax",
			"CLUSTER BACKUP READ 1 0 -1 1":       "-ERR syntax",
			"CLUSTER BACKUP READ 1 0 0 1 1":      "-ERR syntax",
			"CLUSTER BACKUP OPEN 1":              "-ERR syntax",
			"CLUSTER BACKUP SHUT":                "-ERR syntax",
			"CLUSTER BACKUP CLOSE":               "-ERR syntax",
			"CLUSTER BACKUP":                     "-ERR wrong number",
		} {
			if got := b.line(line); !strings.HasPrefix(got, want) {
				t.Errorf("%s = %.80s", line, got)
			}
		}
		if got := b.line("CLUSTER BACKUP CLOSE 1"); got != "+OK" {
			t.Errorf("CLOSE = %s", got)
		}
		if got := b.line("CLUSTER BACKUP READ 1 0 0 4"); !strings.HasPrefix(got, "-ERR") {
			t.Errorf("READ behind CLOSE = %s", got)
		}
		b.line("ACL SETUSER half on nopass +@all %R~f*")
		b.line("AUTH half x")
		if got := b.line("CLUSTER BACKUP OPEN"); !strings.HasPrefix(got, "-NOPERM") {
			t.Errorf("OPEN by a user who may not read all keys = %.80s", got)
		}
		b.client = b.connect()
		b.line("ACL SETUSER backup on nopass +cluster|backup %R~*")
		b.line("AUTH backup x")
		if got := b.line("CLUSTER BACKUP OPEN"); strings.HasPrefix(got, "-") {
			t.Errorf("OPEN by a user who may read all keys = %.80s", got)
		}
	})
	if got := newBench(t, 1<<30).line("CLUSTER BACKUP OPEN"); !strings.HasPrefix(got, "-ERR This instance") {
		t.Errorf("OPEN without a cluster = %s", got)
	}
}

// TestCopyEndsWithItsClient has a client leave that has opened a copy, and not closed it: others are not in its way.
func TestCopyEndsWithItsClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, d := keptNode(t, memlog.New(1, memlog.Faults{}), &folder.Memory{})
		b.line("FILTER.CREATE f bloom")
		for range 2 * 4 { // as many as there can be at once, twice
			c := b.connect()
			got := c.do("CLUSTER", "BACKUP", "OPEN")
			var number uint64
			if _, err := fmt.Sscanf(got, "[:%d ", &number); err != nil {
				t.Fatalf("CLUSTER BACKUP OPEN = %s", got)
			}
			if _, err := d.ReadCopy(number, 0, 0, 1); err != nil {
				t.Error(err)
			}
			b.engine.Close(c.session)
			if _, err := d.ReadCopy(number, 0, 0, 1); err == nil {
				t.Error("the copy of a client that is gone is there")
			}
		}
	})
}
