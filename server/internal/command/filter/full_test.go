package filter_test

import (
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/command/commandtest"
)

// addArgs returns the arguments of FILTER.ADD for items.
func addArgs(key string, items []string) [][]byte {
	args := [][]byte{[]byte("FILTER.ADD"), []byte(key)}
	for _, item := range items {
		args = append(args, []byte(item))
	}
	return args
}

// TestFilterFullReply asks that FILTER.ADD answers one element per item, whether a
// filter has one part or several, and however the items are sent: those behind one
// that has no room are tried too, and a crash loses none of those that were added.
func TestFilterFullReply(t *testing.T) {
	for parts, capacity := range map[string]string{"1": "100", "2": "20", "4": "8"} {
		for name, sizes := range map[string][]int{"one call": {250}, "pieces": {600}, "pipeline": {50, 50, 50, 50, 50}} {
			b := newBench(t, 1<<30)
			b.Do("FILTER.CREATE", "c", "cuckoo", "CAPACITY", capacity, "ERROR", "0.01", "PARTS", parts)
			var calls [][][]byte
			var items []string
			for _, n := range sizes {
				more := itemsOf("item", len(items), len(items)+n)
				items = append(items, more...)
				calls = append(calls, addArgs("c", more))
			}
			var elems []answer.Reply
			for i, r := range b.Exec(calls...) {
				list := spread(r)
				if len(list) != sizes[i] {
					t.Fatalf("%s parts, %s: %d elements for %d items: %s", parts, name, len(list), sizes[i], commandtest.Show(r))
				}
				elems = append(elems, list...)
			}
			var added []string
			full, behind := false, 0
			for i, e := range elems {
				switch {
				case e.Kind == answer.Error && strings.Contains(e.Text, "filter is full"):
					full = true
				case e.Kind == answer.Bool:
					added = append(added, items[i])
					if full {
						behind++
					}
				default:
					t.Fatalf("%s parts, %s: item %d has %s", parts, name, i, commandtest.Show(e))
				}
			}
			if !full || behind == 0 {
				t.Errorf("%s parts, %s: full %t, %d items behind the first error were added, want some", parts, name, full, behind)
			}
			if got := b.number(t, "c", "items"); got != float64(len(added)) {
				t.Errorf("%s parts, %s: %g items, %d were answered as added", parts, name, got, len(added))
			}
			b.has(t, "c", added)
			b.Crash(t)
			b.has(t, "c", added)
		}
	}
}

// TestFilterFullRebuild asks that the shadow of a full filter gets those items, and no
// others, that the filter has taken.
func TestFilterFullRebuild(t *testing.T) {
	b := newBench(t, 1<<30)
	b.Do("FILTER.CREATE", "c", "cuckoo", "CAPACITY", "100", "ERROR", "0.01")
	b.Do("FILTER.REBUILD", "c", "BEGIN", "cuckoo", "CAPACITY", "1000")
	b.Exec(addArgs("c", itemsOf("item", 0, 200)))
	old := b.number(t, "c", "items")
	if old >= 200 {
		t.Fatal("the filter never was full")
	}
	if got := b.Do("FILTER.REBUILD", "c", "COMMIT"); got != "+OK" {
		t.Fatalf("COMMIT = %s", got)
	}
	if got := b.number(t, "c", "items"); got != old {
		t.Errorf("the new filter has %g items, the old one had %g", got, old)
	}
	b.Crash(t)
}

// spread returns the elements of an array, that of booleans included.
func spread(r answer.Reply) []answer.Reply {
	if r.Kind != answer.Bools {
		return r.Elems
	}
	var list []answer.Reply
	for _, v := range r.Bools {
		list = append(list, answer.Truth(v))
	}
	if r.Text != "" {
		list = append(list, answer.Fail(r.Text))
	}
	return list
}

// has asks that a filter has items.
func (b *bench) has(t testing.TB, key string, items []string) {
	t.Helper()
	if got := b.Do(append([]string{"FILTER.HAS", key}, items...)...); strings.Contains(got, "false") || strings.Count(got, "true") != len(items) {
		t.Errorf("%s: an item that was added is denied: %s", key, got)
	}
}
