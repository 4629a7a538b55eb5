// Package growth says how much memory filters of all kinds take when they grow.
package growth

import (
	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/quotient"
)

// segments is what an item can make a growing quotient filter take: two of its largest segments in the
// place of one, with room for a longer directory. Of many items, few are the last that a segment takes. While
// it is small, it takes a few times what it has.
const (
	segments = 256 << 10
	times    = 4
)

// Most returns the most bytes that n more items can make a filter grow by, with all of its members. If the
// hashes of several items were chosen, each can make a growing quotient filter take as much as one does.
func Most(f bloomery.Hashed, n int) (most uint64) {
	switch f := f.(type) {
	case *bloom.Scalable:
		return f.GrowBytes(n)
	case *quotient.Growing:
		return min(segments, times*f.Stats().Bytes) + 64*uint64(n)
	case interface{ Members() []bloomery.Hashed }:
		for _, m := range f.Members() {
			most += Most(m, n)
		}
	case interface{ Filter() bloomery.Hashed }: // a corrected one
		return Most(f.Filter(), n)
	}
	return most
}
