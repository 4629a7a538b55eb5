package powercut_test

import (
	"testing"

	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/folder/powercut"
)

// TestReplace cuts the power at every step of a replacement: there is the old file or the
// new one, and the new one once it has returned.
func TestReplace(t *testing.T) {
	for cut := 0; ; cut++ {
		for seed := range uint64(20) {
			d := powercut.New(seed)
			if err := folder.Replace(d, "f", []byte("old")); err != nil {
				t.Fatal(err)
			}
			d.CutAfter(cut)
			err := folder.Replace(d, "f", []byte("new"))
			got, failed := folder.ReadFile(d.Restart(), "f", nil)
			if failed != nil || string(got) != "new" && (err == nil || string(got) != "old") {
				t.Fatalf("cut %d, seed %d: %q, %v; Replace: %v", cut, seed, got, failed, err)
			}
			if err == nil && seed == 19 {
				return
			}
		}
	}
}
