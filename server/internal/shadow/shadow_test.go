package shadow

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/roster"
)

// TestTable asks that each shadow is found by what it is of, and by nothing that is closed, while
// others are open.
func TestTable(t *testing.T) {
	all := []*Shadow{{ID: 1, Main: 10}, {ID: 2, Main: 20}, {ID: 3, Name: "a"}, {ID: 4, Name: "b"}}
	var table Table
	check := func(open ...*Shadow) {
		t.Helper()
		for _, sh := range all {
			var want *Shadow
			if slices.Contains(open, sh) {
				want = sh
			}
			if got := table.ShadowByID(sh.ID); got != want {
				t.Errorf("by id %d: %v, want %v", sh.ID, got, want)
			}
			if got := table.ShadowOf(sh.Main); sh.Main != 0 && got != want {
				t.Errorf("of filter %d: %v, want %v", sh.Main, got, want)
			}
			if got := table.ShadowNamed([]byte(sh.Name)); sh.Name != "" && got != want {
				t.Errorf("named %q: %v, want %v", sh.Name, got, want)
			}
			if table.Shadowed(sh.ID) != (want != nil) || sh.Main != 0 && table.Shadowed(sh.Main) != (want != nil) {
				t.Errorf("shadow %d of %d: Shadowed is not %t", sh.ID, sh.Main, want != nil)
			}
		}
		if got := table.Shadows(); len(got) != len(open) {
			t.Errorf("%d are open, want %d", len(got), len(open))
		}
	}
	check()
	for i, sh := range all {
		table.Publish(sh, true)
		check(all[:i+1]...)
	}
	for i, sh := range all {
		table.Publish(sh, false)
		check(all[i+1:]...)
	}
}

// TestReopen asks that only the commit that has sealed a shadow, or the catalogue of a cluster, opens it.
func TestReopen(t *testing.T) {
	var sh Shadow
	sh.Seal(7)
	if sh.Reopen(6); !sh.Closed() || sh.Commit() != 7 {
		t.Errorf("commit 6 has opened what commit 7 has sealed: %d", sh.Commit())
	}
	if sh.Reopen(7); sh.Closed() {
		t.Error("it is closed when its commit was given up")
	}
	sh.Note(&roster.Rebuild{Attempt: 3, Ready: true})
	if sh.Commit() != 3 || !sh.Ready() || sh.Broken() {
		t.Errorf("noted: commit %d, ready %t, broken %t", sh.Commit(), sh.Ready(), sh.Broken())
	}
}

// TestPortions asks that every hash goes to its part once, in the order of its siblings.
func TestPortions(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, parts := range []uint8{0, 1, 5} {
		sh := &Shadow{plan: &contents.Shared{Plan: contents.Plan{Parts: parts}}}
		for _, n := range []int{1, 2, 100} {
			hashes := make([]uint64, n)
			for i := range hashes {
				hashes[i] = random.Uint64()
			}
			before := slices.Clone(hashes)
			left := map[uint32][]uint64{}
			for _, h := range hashes {
				part := uint32(bloomery.Route(h, uint(parts)))
				left[part] = append(left[part], h)
			}
			for _, p := range sh.Portions(hashes) {
				if !slices.Equal(p.Hashes, left[p.Index]) {
					t.Errorf("%d hashes in 2^%d parts: part %d gets %x, want %x", n, parts, p.Index, p.Hashes, left[p.Index])
				}
				delete(left, p.Index)
			}
			if len(left) > 0 || !slices.Equal(hashes, before) {
				t.Errorf("%d hashes in 2^%d parts: %d parts get nothing; hashes changed: %t", n, parts, len(left), !slices.Equal(hashes, before))
			}
		}
	}
}
