package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestSetElsewhere has every node know what FILTER.SET has changed, whatever it holds of the filter: what is made of the filter
// there keeps it.
func TestSetElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		v.record(t, 0, &store.Level{Level: store.LevelRebuilds})
		for i, far := range v.nodes {
			for j, parts := range []int{1, 4, 16} {
				key, other := away(i, j), v.nodes[(i+1+j)%4]
				must := func(line, want string) {
					t.Helper()
					if got := far.line(line); got != want {
						t.Errorf("node %d, %d parts: %s = %s, want %s", i+1, parts, line, got, want)
					}
				}
				other.lines(fmt.Sprintf("FILTER.CREATE %s bloom CAPACITY 1000 PARTS %d", key, parts), "FILTER.SET "+key+" NEWS 12", "FILTER.SET "+key+" NEWS 77")
				time.Sleep(time.Second) // the far node has it
				must("COPY "+key+" "+key+"copy", ":1")
				must("FILTER.CREATE "+key+"like bloom LIKE "+key, "+OK")
				dumped := far.exec(args([]string{"DUMP", key}))[0]
				if got := show(far.exec([][]byte{[]byte("RESTORE"), []byte(key + "restored"), []byte("0"), []byte(dumped.Text)})[0]); got != "+OK" {
					t.Errorf("node %d, %d parts: RESTORE = %s", i+1, parts, got)
				}
				must("FILTER.REBUILD "+key+" BEGIN CAPACITY 2000", "+OK")
				must("FILTER.REBUILD "+key+" COMMIT", "+OK")
				time.Sleep(time.Second)
				for n, b := range v.nodes {
					for _, name := range []string{"", "copy", "like", "restored"} {
						if got := b.line("FILTER.INFO " + key + name); !strings.Contains(got, `"news" :77`) {
							t.Errorf("node %d asks node %d, %d parts: FILTER.INFO %s = %s", i+1, n+1, parts, key+name, got)
						}
						e := b.state.Names.Lookup([]byte(key+name), time.Now().UnixMilli())
						for at, p := range contents.Parts(e) {
							if got := p.Plan().News; got != 77 {
								t.Errorf("node %d: part %d of %s keeps %d changes, as a node says that holds it: %v", n+1, at, key+name, got, !p.Elsewhere())
							}
						}
					}
				}
			}
		}
	})
}

// TestGrowElsewhere has every node know the kind of a filter that FILTER.GROW has changed, whatever it holds of it: what is made
// of the filter there is of that kind.
func TestGrowElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		v.record(t, 0, &store.Level{Level: store.LevelRebuilds})
		for i, far := range v.nodes {
			for j, parts := range []int{1, 4} {
				key, other := away(i, j), v.nodes[(i+1+j)%4]
				must := func(line, want string) {
					t.Helper()
					if got := far.line(line); got != want {
						t.Errorf("node %d, %d parts: %s = %s, want %s", i+1, parts, line, got, want)
					}
				}
				other.lines(fmt.Sprintf("FILTER.CREATE %s bloom CAPACITY 1000 PARTS %d", key, parts), "FILTER.ADD "+key+" a", "FILTER.GROW "+key)
				time.Sleep(time.Second) // the far node has it
				must("FILTER.CREATE "+key+"like scalable LIKE "+key, "+OK")
				must("COPY "+key+" "+key+"copy", ":1")
				must("FILTER.REBUILD "+key+" BEGIN CAPACITY 2000", "+OK")
				must("FILTER.REBUILD "+key+" COMMIT FORCE", "+OK")
				time.Sleep(time.Second)
				for n, b := range v.nodes {
					for _, name := range []string{"", "copy", "like"} {
						for at, p := range contents.Parts(b.state.Names.Lookup([]byte(key+name), time.Now().UnixMilli())) {
							if got := p.Row().Name; got != "scalable" {
								t.Errorf("node %d, made at node %d: part %d of %s is of kind %s, as a node says that holds it: %v", n+1, i+1, at, key+name, got, !p.Elsewhere())
							}
						}
					}
				}
			}
		}
	})
}
