package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/exact"
)

// TestCheckGroupsOfOthers asks that groups with numbers of another origin are refused, however
// many there are: a key would be looked for in the wrong one.
func TestCheckGroupsOfOthers(t *testing.T) {
	for _, n := range []int{2, firstGroup, firstGroup + 1, 3 * firstGroup / 2, 2 * firstGroup, 2*firstGroup + 1} {
		groups := make([]exact.Group, n)
		for i := range uint64(n) {
			groups[i] = exact.Group{In: []uint64{1<<32 + i}, Out: []uint64{1<<33 + i}}
		}
		f, err := exact.Config{}.BuildGroups(t.Context(), groups)
		if err != nil {
			t.Fatal(err)
		}
		data, err := f.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "g.bx")
		write(t, file, data)
		code, _, errOut := call(t, "check", "--csv", "-k", "1,2", "--group", "1", file, "acme,7")
		if code != exitBad || !strings.Contains(errOut, "it was built without --group") {
			t.Errorf("%d groups: check = %d, %s", n, code, errOut)
		}
	}
}
