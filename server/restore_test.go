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
	steps := 0
	for done := false; !done; steps++ {
		dir := filepath.Join(t.TempDir(), "to")
		ctx := &countdown{Context: t.Context()}
		ctx.left.Store(int64(steps))
		r, err := (&datadir.Restore{From: from, Dir: dir}).Run(ctx)
		if done = err == nil; done {
			if r.Names != 2 || r.Lanes != 8 || r.Cluster == 0 || datadir.Check(dir) != nil {
				t.Errorf("Run = %+v", r)
			}
			continue
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("step %d: %v", steps, err)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("step %d: the folder is left", steps)
		}
	}
	if steps < 5 {
		t.Errorf("it took %d steps", steps)
	}
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
