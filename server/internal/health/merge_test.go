package health_test

import (
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/health"
)

// TestMergeGone asks that reports of deleted items are bounded by the items of the whole filter, not by
// those of each machine: every machine must say the same.
func TestMergeGone(t *testing.T) {
	part := func(items, reported uint64) health.Report {
		l := health.Look{Stats: bloomery.Stats{Kind: "bloom", Capacity: 1000, Items: items}, Parts: 1, Layers: 1, Gone: min(items, reported), Reported: reported}
		return health.Report{Look: l}
	}
	for _, c := range []struct{ reported, want uint64 }{{5, 25}, {200, 110}, {1<<64 - 1, 110}} {
		if got := health.Merge(health.Look{}, []health.Report{part(10, 20), part(100, c.reported)}).Gone; got != c.want {
			t.Errorf("20 and %d reports: %d items are gone, want %d", c.reported, got, c.want)
		}
	}
}
