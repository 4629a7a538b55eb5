package engine

// The engine's part in probing and judging filters.

import (
	"math/rand/v2"

	"github.com/bloomery/bloomery/server/internal/checkup"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/health"
	"github.com/bloomery/bloomery/server/internal/store"
)

// Health returns what probes and judges the filters. The server runs it.
func (e *Engine) Health() *health.Keeper { return e.well }

// Health returns what probes and judges the filters.
func (x Contents) Health() *health.Keeper { return x.e.well }

// Filters returns the filters as their health sees them.
func (x Contents) Filters() *checkup.Filters { return &x.e.filters }

// born notes that an op has made a filter.
func (e *Engine) born(op *door.Op) {
	_, staged := op.Record.Body.(*store.Stage)
	if entry := op.Result.Entry; entry != nil && !staged && contents.IsFilter(entry) {
		e.well.Born(entry.ID)
	}
}

// touchEvery is after how many bundles of calls, on average, one is noted for who
// is busiest.
const touchEvery = 64

// meter returns what counts a bundle of calls, the first one of cmd, on one filter: nil if
// they are on none, or if its use is not counted.
func (e *Engine) meter(s *Session, cmd *Command) *health.Meter {
	id := s.filter
	s.filter = 0
	if id == 0 || cmd == nil || cmd.On == nil {
		return nil
	}
	if s.touch == 0 {
		e.well.Touch(s.Slot, id)
		s.touch = rand.Uint32N(2 * touchEvery) // no rhythm of a client's escapes it
	} else {
		s.touch--
	}
	if m := e.well.Meter(id); m != nil {
		return m
	}
	return e.well.Adopt(id)
}
