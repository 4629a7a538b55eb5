package main

import (
	"math"
	"testing"

	"github.com/bloomery/bloomery/examples/internal/demo"
)

// At least 95% of the calls of nodes and 99% of the reads of tables are saved, every answer is right,
// lost copies are written again, and deleted rows leave with the next summaries.
func TestRouter(t *testing.T) {
	f, err := run(t.Context(), demo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	all := f.lookups * f.size
	if f.wrong != 0 || 20*f.calls > all || 100*f.reads > all*tables || f.calls == 0 {
		t.Errorf("%d wrong answers, %d calls of %d, %d reads of %d", f.wrong, f.calls, all, f.reads, all*tables)
	}
	if f.repaired == 0 {
		t.Error("no copy was repaired")
	}
	if kept, left := f.deleted[0], f.deleted[1]; kept.Yes != kept.All || kept.All == 0 || left.All == 0 || 10*left.Yes > left.All {
		t.Errorf("deleted rows for which a node is called: %v while filters keep them, %v then", kept, left)
	}
	asked := float64(f.absent.All) * clusterRate * nodeRate // within 4 standard deviations
	if float64(f.absent.Yes) > asked+4*math.Sqrt(asked) {
		t.Errorf("%v calls for absent rows, want about %.0f", f.absent, asked)
	}
	f.Table().Documented(t)
}
