package health_test

import (
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/health"
)

// TestHistoryEnds checks the latest point of a full history, and filters without a rate
// or that are gone.
func TestHistoryEnds(t *testing.T) {
	if p, ok := health.LastOf(1000, func(i int) health.Point { return health.Point{At: int64(i)} }); !ok || p.At != 999 {
		t.Errorf("the latest point is %v, %t, want 999", p.At, ok)
	}
	if got := health.RateLimit(health.Look{Stats: bloomery.Stats{Capacity: 100}}); got != 0 {
		t.Errorf("the limit of no rate is %v, want 0", got)
	}
	s := newSource()
	f := s.small(1)
	f.held = true // Peek may wait; what still fails is gone
	if _, ok := s.keeper().Peek(f); ok {
		t.Error("a filter that is gone has a report")
	}
}
