package engine_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestScalableBelowTheLevel asks that a cluster which may have nodes of an older release
// gets only filters that those can read: made, grown and loaded. After an upgrade it gets
// those of this release.
func TestScalableBelowTheLevel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, d, _ := newNode(t, memlog.New(1, memlog.Faults{}))
		time.Sleep(2 * time.Second)
		later, err := bloom.NewScalable(10, 0.01).MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		make := func(name string) {
			for _, line := range []string{
				"FILTER.CREATE " + name + " scalable CAPACITY 10", "FILTER.CREATE low" + name + " scalable CAPACITY 10 ERROR 0.00001",
				"FILTER.CREATE grown" + name + " bloom CAPACITY 10", "FILTER.GROW grown" + name,
			} {
				if got := b.line(line); got != "+OK" {
					t.Fatalf("%s = %s", line, got)
				}
			}
		}
		older := func(name string) (all bool) {
			all = true
			for _, name := range []string{name, "low" + name, "grown" + name} {
				p := contents.PartOf(b.state.Names.Lookup([]byte(name), 0))
				_, data := p.Contents().ScanDump(1)
				all = all && store.CheckLevel(data, 1) == nil
			}
			return all
		}
		if make("a"); !older("a") {
			t.Error("filters that older nodes cannot read were made at level 1")
		}
		if got := b.do("FILTER.LOAD", "l", "1", string(later)); !strings.Contains(got, "cluster upgrade first") {
			t.Errorf("FILTER.LOAD at level 1 = %s", got)
		}
		b.line("FILTER.CREATE split split CAPACITY 100000")
		if got := b.line("FILTER.FOLD split"); !strings.HasPrefix(got, "-ERR FILTER.FOLD of kind split: nodes of an older release") {
			t.Errorf("FILTER.FOLD of a split, which older nodes cannot read = %s", got)
		}
		if level, err := d.Upgrade(); err != nil || level < store.LevelShares {
			t.Fatalf("Upgrade = %d, %v", level, err)
		}
		time.Sleep(time.Second)
		if make("b"); older("b") {
			t.Error("filters of before were made after the upgrade")
		}
		if got := b.do("FILTER.LOAD", "l", "1", string(later)); got != "+OK" {
			t.Errorf("FILTER.LOAD after the upgrade = %s", got)
		}
		if got := b.line("FILTER.FOLD split"); got != "+OK" {
			t.Errorf("FILTER.FOLD of a split after the upgrade = %s", got)
		}
	})
}
