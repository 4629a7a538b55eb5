package main

import (
	"math"
	"testing"

	"github.com/bloomery/bloomery/examples/internal/demo"
)

// At least 90% of the calls of nodes and 95% of the reads of tables are saved, every answer is
// right, and lost copies are written again.
func TestRouter(t *testing.T) {
	f, err := run(t.Context(), demo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	all := f.lookups * f.nodes
	if f.wrong != 0 || 10*f.calls > all || 20*f.reads > all*f.tables || f.calls == 0 {
		t.Errorf("%d wrong answers, %d calls of %d, %d reads of %d", f.wrong, f.calls, all, f.reads, all*f.tables)
	}
	if f.repaired == 0 || f.deleted == 0 || 5*f.deletedCalls > f.deleted*f.nodes {
		t.Errorf("%d copies repaired, %d calls for %d deleted rows", f.repaired, f.deletedCalls, f.deleted)
	}
	asked := float64(f.absent*f.nodes) * clusterRate * nodeRate // within 4 standard deviations
	if float64(f.absentCalls) > asked+4*math.Sqrt(asked) {
		t.Errorf("%d calls for %d absent rows, want about %.0f", f.absentCalls, f.absent, asked)
	}
	f.Table().Documented(t)
}
