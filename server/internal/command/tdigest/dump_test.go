package tdigest_test

import (
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
)

// TestDumpOfCompressedDigest dumps a t-digest twice: what the first DUMP has compressed
// needs no record of the second.
func TestDumpOfCompressedDigest(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Script(t, `
		TDIGEST.CREATE d -> +OK
		TDIGEST.ADD d 1 2 3 -> +OK`)
	before := b.Door.Status().LogEnd
	b.Line("DUMP d")
	first := b.Door.Status().LogEnd
	if got := b.Line("TDIGEST.INFO d"); !strings.Contains(got, "+Merged nodes :3 +Unmerged nodes :0 ") {
		t.Errorf("after a DUMP: %s", got)
	}
	b.Line("DUMP d")
	if second := b.Door.Status().LogEnd; first == before || second != first {
		t.Errorf("the log ends at %d, after a DUMP at %d, after another at %d", before, first, second)
	}
}
