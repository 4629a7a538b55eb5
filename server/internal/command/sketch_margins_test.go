package command_test

// Sketches at the margins.

import "testing"

// TestDumpOfCompressedDigest dumps a t-digest twice: what the first DUMP has compressed
// needs no record of the second.
func TestDumpOfCompressedDigest(t *testing.T) {
	b := newBench(t, 1<<30)
	b.script(t, `
		TDIGEST.CREATE d -> +OK
		TDIGEST.ADD d 1 2 3 -> +OK`)
	before := b.door.Status().LogEnd
	b.line("DUMP d")
	first := b.door.Status().LogEnd
	b.line("DUMP d")
	if second := b.door.Status().LogEnd; first == before || second != first {
		t.Errorf("the log ends at %d, after a DUMP at %d, after another at %d", before, first, second)
	}
}
