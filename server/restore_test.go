package server_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server"
	"github.com/bloomery/bloomery/server/datadir"
)

// countdown is a context that ends after it was asked so many times.
type countdown struct {
	context.Context
	left atomic.Int64
}

func (c *countdown) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// interruptRestore interrupts a restore at every step, into nodes of which two hold everything, or into one if there are none.
func interruptRestore(t *testing.T, from string, nodes int, check func(dir string) error) {
	t.Helper()
	steps := 0
	for done := false; !done; steps++ {
		parent := t.TempDir()
		one := datadir.Restore{From: from, Dir: filepath.Join(parent, "to"), Nodes: nodes, Copies: min(2, nodes)}
		ctx := &countdown{Context: t.Context()}
		ctx.left.Store(int64(steps))
		r, err := one.Run(ctx)
		if done = err == nil; done {
			if r.Names != 2 || r.Lanes != 8 || r.Cluster == 0 || check(one.Dir) != nil {
				t.Errorf("Run = %+v, %v", r, check(one.Dir))
			}
			continue
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("step %d: %v", steps, err)
		}
		if left, err := os.ReadDir(parent); err != nil || len(left) > 0 {
			t.Errorf("step %d: %s is left, %v", steps, left, err)
		}
	}
	if steps < 5*max(1, nodes) {
		t.Errorf("it took %d steps", steps)
	}
}

// TestRestoreIsKilled asks that what a restore into nodes has left that was killed is neither used nor touched, and that
// what is there is never overwritten.
func TestRestoreIsKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	addr, stop := startStop(t, server.Config{Dir: from})
	c := dial(t, addr) // a log with a filter that takes the place of another
	c.expect("+OK\r\n", "FILTER.CREATE", "f", "bloom", "CAPACITY", "1000", "PARTS", "8")
	c.expect("+OK\r\n", "FILTER.REBUILD", "f", "BEGIN", "bloom", "CAPACITY", "2000")
	c.expect("+OK\r\n", "FILTER.REBUILD", "f", "COMMIT")
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(to+".unfinished", "1", "MANIFEST")
	if err := errors.Join(os.MkdirAll(filepath.Dir(left), 0o700), os.WriteFile(left, []byte("half"), 0o600)); err != nil {
		t.Fatal(err)
	}
	again := func() error {
		_, err := (&datadir.Restore{From: from, Dir: to, Nodes: 3, Copies: 2}).Run(t.Context())
		return err
	}
	if err := again(); !errors.Is(err, datadir.ErrUnfinished) {
		t.Errorf("beside what was left: %v", err)
	}
	if b, err := os.ReadFile(left); err != nil || string(b) != "half" {
		t.Errorf("what was left is now %q, %v", b, err)
	}
	if err := errors.Join(os.RemoveAll(to+".unfinished"), again()); err != nil {
		t.Errorf("without it: %v", err)
	}
	if err := again(); !errors.Is(err, datadir.ErrNotEmpty) {
		t.Errorf("over folders of nodes: %v", err)
	}
}

// TestRestoreEnds interrupts a restore at every step, and damages what it reads: the
// folder is empty or not there afterwards, or has all of the data.
func TestRestoreEnds(t *testing.T) {
	t.Parallel()
	from := filepath.Join(t.TempDir(), "from")
	addr, stop := startStop(t, server.Config{Dir: from})
	c := dial(t, addr)
	c.expect("+OK\r\n", "BF.RESERVE", "filter", "0.001", "100000")
	c.expect(":1\r\n", "BF.ADD", "filter", "item")
	c.expect("+OK\r\n", "SAVE")
	c.expect("+OK\r\n", "SET", "text", "value")
	if _, err := (&datadir.Restore{From: from, Dir: t.TempDir()}).Run(t.Context()); !errors.Is(err, datadir.ErrLocked) {
		t.Errorf("the folder of a server that runs: %v", err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	interruptRestore(t, from, 0, datadir.Check)
	interruptRestore(t, from, 3, func(dir string) error {
		return errors.Join(datadir.Check(filepath.Join(dir, "1")), datadir.Check(filepath.Join(dir, "2")), datadir.Check(filepath.Join(dir, "3")))
	})
	parts, err := filepath.Glob(filepath.Join(from, "*.part"))
	if err != nil || len(parts) == 0 {
		t.Fatal(parts, err)
	}
	data, err := os.ReadFile(parts[0])
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/3] ^= 1
	if err := os.WriteFile(parts[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "to")
	if _, err := (&datadir.Restore{From: from, Dir: dir}).Run(t.Context()); !errors.Is(err, bloomery.ErrCorrupt) {
		t.Errorf("a damaged folder: %v", err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a folder was made of a damaged one")
	}
}
