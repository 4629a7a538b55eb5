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
	all := f.lookups * f.nodes
	if f.wrong != 0 || 20*f.calls > all || 100*f.reads > all*f.tables || f.calls == 0 {
		t.Errorf("%d wrong answers, %d calls of %d, %d reads of %d", f.wrong, f.calls, all, f.reads, all*f.tables)
	}
	if f.repaired == 0 || f.gone == 0 {
		t.Errorf("%d copies repaired, %d deletes counted", f.repaired, f.gone)
	}
	if kept, left := f.deleted[0], f.deleted[1]; kept.calls < kept.lookups || left.lookups == 0 || 10*left.calls > left.lookups {
		t.Errorf("calls for deleted rows: %+v while filters keep them, %+v then", kept, left)
	}
	asked := float64(f.absent.lookups*f.nodes) * clusterRate * nodeRate // within 4 standard deviations
	if float64(f.absent.calls) > asked+4*math.Sqrt(asked) {
		t.Errorf("%d calls for %d absent rows, want about %.0f", f.absent.calls, f.absent.lookups, asked)
	}
	f.Table().Documented(t)
}
