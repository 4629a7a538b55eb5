// Tests of the memory that dedupe takes by default.

package main

import (
	"strconv"
	"testing"

	"github.com/bloomery/bloomery/internal/memory"
)

// TestDedupeTakesHalfTheMemory asks for more lines than any memory holds: what is
// said of --max-memory is the same without it and with half of what the machine has.
func TestDedupeTakesHalfTheMemory(t *testing.T) {
	refusal := func(args ...string) string {
		code, _, errOut := call(t, append([]string{"dedupe", "--rate", "1e-6", "-n", "1e15"}, args...)...)
		if code != exitUsage {
			t.Errorf("%q = %d, %s", args, code, errOut)
		}
		return errOut
	}
	half := max(leastDedupe, memory.Limit()/2)
	byDefault, given := refusal(), refusal("--max-memory", strconv.FormatUint(half, 10))
	if byDefault != given {
		t.Errorf("without --max-memory: %s\nwith %d: %s", byDefault, half, given)
	}
	if least := refusal("--max-memory", "64M"); half > leastDedupe && least == given {
		t.Errorf("with 64M and with %d: %s", half, least)
	}
}
