package filter

// How long the generations of a window are.

import (
	"errors"
	"fmt"
	"time"

	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/staging"
	"github.com/bloomery/bloomery/sizing"
)

// errSpan refuses a window of which nobody says how long its generations are.
var errSpan = errors.New("a window is loaded with the SPAN that it was made with, unless it replaces a window with as many generations; " +
	"DUMP and RESTORE carry the span")

// generationOf returns the milliseconds of a generation of the filter that data
// encodes, 0 if it is no window: that of the parts that have come, what the span that was
// given makes, or that of the window that it replaces. It refuses a window for which time would
// stand still, or whose items would all be forgotten at once.
func generationOf(entry *catalog.Entry, t *staging.Staged, data []byte, span time.Duration, now int64) (int64, error) {
	header, err := codec.Peek(data)
	if err != nil {
		return 0, err
	}
	if header.Kind.Name != "window" {
		if span != 0 {
			return 0, fmt.Errorf("SPAN is for kind window, not for %s", header.Kind.Name)
		}
		return 0, nil
	}
	var config compose.WindowConfig
	if header.Hash != hashing.XXH3 {
		config.Hasher = hashing.Keyless(header.Check)
	}
	v, err := config.View(data)
	if err != nil {
		return 0, err
	}
	w := v.(interface {
		Shape() sizing.Window
		Generation() uint64
	})
	generations := w.Shape().Generations
	length := max(1, span.Milliseconds()/int64(generations))
	if t != nil {
		length = t.Generation
	} else if span == 0 {
		if length = lengthIn(entry, generations); length == 0 {
			return 0, errSpan
		}
	}
	present := uint64(max(0, now) / length)
	switch {
	case w.Generation() > present+1: // clocks differ a little
		return 0, fmt.Errorf("the window is in generation %d, with this span it is generation %d now: give the SPAN that it was made with",
			w.Generation(), present)
	case w.Generation()+uint64(generations) <= present:
		return 0, fmt.Errorf("the window is in generation %d, with this span it is generation %d now and no item would be left",
			w.Generation(), present)
	}
	return length, nil
}

// lengthIn returns the milliseconds of a generation of a window that has so many, 0
// if the entry is none.
func lengthIn(entry *catalog.Entry, generations int) int64 {
	if entry == nil || entry.Kind != catalog.Filter {
		return 0
	}
	p := contents.PartOf(entry)
	p.RLock()
	defer p.RUnlock()
	w, ok := p.Filter().(*compose.Window)
	if !ok || p.Gone() || w.Shape().Generations != generations {
		return 0
	}
	return p.Plan().Generation
}
