package quotient

import (
	"github.com/bloomery/bloomery/internal/frozen"
	"github.com/bloomery/bloomery/sizing"
)

// Freeze returns the filter as it is now, to be encoded while it changes, but not resized; nil for a zero
// Filter. It is for programs of this module.
func (f *Filter) Freeze() *frozen.Pages {
	if len(f.data) == 0 {
		return nil
	}
	totals, array := f.payload()
	return frozen.NewPages(f.header(), totals, array, f.touches)
}

// touches names the blocks that a change can move slots of: from that of the quotient up to the one with
// the last slot that the longest entry would need.
func (f *Filter) touches(h uint64, save func(from, to int)) {
	quotient, _ := f.split(h)
	block := int(quotient / sizing.QuotientsPerBlock)
	last, ok := f.free(block, maxEntry)
	if !ok {
		last = f.blocks - 1
	}
	const word = 8
	save(block*f.size/word, (last+1)*f.size/word+2) // a remainder is stored with the 8 bytes that it begins in
}
