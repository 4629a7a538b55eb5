package counting

import (
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/frozen"
	"github.com/bloomery/bloomery/internal/kernel"
)

// Freeze returns the filter as it is now, to be encoded while it changes; nil for a zero
// Filter. It is for programs of this module.
func (f *Filter) Freeze() *frozen.Pages { return f.freeze() }

// Freeze is that of Filter.
func (f *Spectral) Freeze() *frozen.Pages { return f.freeze() }

// Freeze is that of Filter.
func (f *Stable) Freeze() *frozen.Pages { return f.freeze() }

func (f *table) freeze() *frozen.Pages {
	if len(f.words) == 0 {
		return nil
	}
	return frozen.NewPages(f.header(), nil, f.words, f.touches)
}

// touches names the block of a key, with its counters, the state, and what the hand of a Stable sweeps.
func (f *table) touches(h uint64, save func(from, to int)) {
	save(0, len(f.state))
	f.span(int(kernel.BlockOf(uint64(len(f.blocks)), h)), save)
	if f.form.kind != envelope.KindStable {
		return
	}
	due := (f.state[credit] + uint64(len(f.blocks))) / f.period
	for i := range min(due, uint64(len(f.blocks))) {
		f.span(int((f.state[hand]+i)%uint64(len(f.blocks))), save)
	}
}

// span names the words of a block and of its counters.
func (f *table) span(block int, save func(from, to int)) {
	bits := len(f.state) + block*line
	save(bits, bits+line)
	counters := line * f.size.Width
	first := len(f.words) - len(f.counts) + block*counters
	save(first, first+counters)
}
