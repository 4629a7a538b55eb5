package command_test

import (
	"fmt"
	"testing"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
)

// TestLargeMergesAreMerges asks that merges outside of locks give what those under locks
// do: the same counts, digests, deadlines and errors.
func TestLargeMergesAreMerges(t *testing.T) {
	large, small := commandtest.New(t, 1<<30), commandtest.New(t, 1<<30)
	both := func(line string) (string, string) { return large.Line(line), small.Line(line) }
	for i := range 3 {
		large.Line(fmt.Sprintf("CMS.INITBYDIM c%d 60000 5", i))
		small.Line(fmt.Sprintf("CMS.INITBYDIM c%d 2000 5", i))
		for n := range 40 {
			both(fmt.Sprintf("CMS.INCRBY c%d item%d %d", i, n%20, n+i))
		}
	}
	both("EXPIRE c0 100")
	for _, line := range []string{
		"CMS.MERGE c0 2 c1 c2", "CMS.QUERY c0 item1 item2 item19 none", "TTL c0", "DBSIZE",
		"CMS.MERGE c0 3 c0 c1 c2 WEIGHTS 2 3 -1", "CMS.QUERY c0 item1 item2 item19 none",
		"CMS.MERGE c0 1 c1 WEIGHTS -1", "CMS.MERGE c0 2 c1 c2 WEIGHTS 9000000000000000000 9000000000000000000",
		"CMS.MERGE c0 1 none", "CMS.MERGE none 1 c0", "CMS.QUERY c0 item1 item2 item19 none", "TTL c0",
	} {
		if got, want := both(line); got != want {
			t.Errorf("%s = %s, of a small sketch %s", line, got, want)
		}
	}
	// A digest that is merged in a transaction is merged under locks.
	for _, b := range []*commandtest.Bench{large, small} {
		sketches(b, "TDIGEST.CREATE %s COMPRESSION 4000", values("TDIGEST.ADD %s", 9000))
	}
	for _, line := range []string{
		"TDIGEST.MERGE sum 3 s0 s1 s2", "TDIGEST.MERGE s1 2 s0 sum COMPRESSION 3000", "TDIGEST.MERGE s2 1 s1 OVERRIDE", "TDIGEST.MERGE s2 1 none",
	} {
		got := large.Line(line)
		small.Line("MULTI")
		small.Line(line)
		if want := small.Line("EXEC"); "["+got+"]" != want {
			t.Errorf("%s = %s, under locks %s", line, got, want)
		}
		for _, key := range []string{"sum", "s0", "s1", "s2"} {
			for _, ask := range []string{"TDIGEST.INFO " + key, "DUMP " + key} {
				if got, want := both(ask); got != want {
					t.Errorf("behind %s: %s = %.300q, under locks %.300q", line, ask, got, want)
				}
			}
		}
	}
}
