// Recent, which forgets lines after a time.

package dedupe

import (
	"fmt"
	"math"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/sizing"
)

// recentParts is how many generations a span has: a line is known for the span
// and up to a sixth of it longer.
const recentParts = 6

// recentBurst is how many times its even share of the hashes one generation may
// take and yet keep the rate.
const recentBurst = 2

// lookEvery is after how many batches the false positive rate is looked at.
const lookEvery = 64

// Recent remembers the hashes of the last span of time, in a Bloom filter of
// fixed size: it is for streams without end. A hash that comes again is known
// for another span.
//
// A writer needs exclusion.
type Recent struct {
	_ struct{}

	// Span is how long a hash is known at least, a second or more.
	Span time.Duration
	// Keys is how many different hashes come in a span, and ErrorRate the share
	// of new ones that are taken for old ones at that number.
	Keys      int
	ErrorRate float64
	// Memory bounds the filter, in bytes.
	Memory int
	// Now is the clock.
	Now func() time.Time

	window  *compose.Window
	batches int
	rate    float64 // when it was looked at last
	wrong   float64 // expected number of new hashes taken for old ones
}

// Open makes the filter. Errors wrap ErrParameter, or ErrTooLarge if it does not
// fit into Memory.
func (r *Recent) Open() error {
	if r.Span < time.Second || r.Keys < 1 {
		return fmt.Errorf("dedupe: recent: %w: %d keys in %v", bloomery.ErrParameter, r.Keys, r.Span)
	}
	shape, err := sizing.WindowSize(uint64(r.Keys), r.ErrorRate, recentParts, recentBurst)
	if err != nil {
		return fmt.Errorf("dedupe: recent: %w", err)
	}
	if bytes := shape.Bits() / 8; bytes > uint64(max(r.Memory, 0)) {
		return fmt.Errorf("dedupe: recent: %w: the filter takes %d bytes, there are %d", bloomery.ErrTooLarge, bytes, r.Memory)
	}
	r.window, err = compose.WindowConfig{Capacity: r.Keys, ErrorRate: r.ErrorRate, Generations: recentParts, Burst: recentBurst}.New()
	if err != nil {
		return fmt.Errorf("dedupe: recent: %w", err)
	}
	return nil
}

// AddHashes adds hashes in order and sets fresh[i] to whether hs[i] did not come
// in the last span.
func (r *Recent) AddHashes(fresh []bool, hs []uint64) {
	r.window.Advance(uint64(max(r.Now().UnixNano(), 0)) / uint64(r.Span/recentParts))
	r.window.AddHashes(fresh, hs)
	if r.batches%lookEvery == 0 {
		r.rate = r.Rate()
	}
	r.batches++
	for _, f := range fresh[:len(hs)] {
		if f {
			r.wrong += r.rate / max(1-r.rate, 1e-9)
		}
	}
}

// Rate returns the share of new hashes that would be taken for old ones now.
func (r *Recent) Rate() float64 { return min(r.window.Stats().Predicted, math.Nextafter(1, 0)) }

// Wrong returns the expected number of new hashes that were taken for old ones.
func (r *Recent) Wrong() float64 { return r.wrong }
