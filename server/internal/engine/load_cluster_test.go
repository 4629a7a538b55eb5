package engine_test

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
)

// TestLoadOfLargeInACluster loads a filter so large that it is opened beside its lane: the client hears what is wrong with one that
// is damaged, and each node has one that is not, for the writes that follow at once.
func TestLoadOfLargeInACluster(t *testing.T) {
	f := bloom.New(1_000_000, 0.01)
	f.AddHash(hashing.Seeded(0).HashString("before"))
	good, err := f.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	bad := bytes.Clone(good)
	bad[len(bad)/2]++
	refused := newBench(t, 1<<30).do("FILTER.LOAD", "f", "1", string(bad)) // by a single server
	if !strings.Contains(refused, "corrupt") {
		t.Error(refused)
	}
	synctest.Test(t, func(t *testing.T) {
		log := memlog.New(1, memlog.Faults{})
		a, d, _ := newNode(t, log)
		upgrade(t, d)
		b, _, _ := newNode(t, log)
		if got := a.do("FILTER.LOAD", "f", "1", string(bad)); got != refused || a.engine.Budget.Used() != 0 {
			t.Errorf("FILTER.LOAD of a damaged filter = %s, want %s; %d bytes are counted", got, refused, a.engine.Budget.Used())
		}
		got := a.exec(
			bytesOf([]string{"FILTER.LOAD", "f", "1", string(good)}), bytesOf([]string{"FILTER.ADD", "f", "after"}), bytesOf([]string{"FILTER.HAS", "f", "before", "after"}),
		)
		if show(got[0]) != "+OK" || show(got[1]) != "[true]" || show(got[2]) != "[true true]" {
			t.Errorf("load, add and look = %s %s %s", show(got[0]), show(got[1]), show(got[2]))
		}
		synctest.Wait()
		if got := b.line("FILTER.HAS f before after"); got != "[true true]" || a.state.Bytes() != b.state.Bytes() {
			t.Errorf("the other node has %s, and counts %d bytes of %d", got, b.state.Bytes(), a.state.Bytes())
		}
	})
}
