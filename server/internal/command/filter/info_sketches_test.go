package filter_test

import (
	"strings"
	"testing"
)

// TestSketchesInFilterInfo asks that FILTER.INFO shows sketches with their own
// figures.
func TestSketchesInFilterInfo(t *testing.T) {
	b := newBench(t, 1<<30)
	for _, line := range []string{
		"CMS.INITBYDIM m 200 3", "CMS.INCRBY m a 7", "TOPK.RESERVE k 5 50 4 0.9", "TOPK.ADD k a", "TDIGEST.CREATE d COMPRESSION 20", "TDIGEST.ADD d 1 2 3",
	} {
		b.Line(line)
	}
	for key, want := range map[string][]string{
		"m": {`"kind" "cms"`, `"width" :200`, `"depth" :3`, `"count" :7`, `"error_bound" 0.01`, `"error_probability" 0.125`},
		"k": {`"kind" "topk"`, `"k" :5`, `"decay" 0.9`, `"least_count" :0`, `"items" :1`},
		"d": {`"kind" "tdigest"`, `"compression" :20`, `"merged_nodes" :0`, `"unmerged_nodes" :3`, `"items" :3`},
	} {
		got := b.Line("FILTER.INFO " + key)
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("FILTER.INFO %s has no %s: %s", key, w, got)
			}
		}
	}
}
