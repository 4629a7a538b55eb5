package cuckoo

import (
	"github.com/bloomery/bloomery/internal/frozen"
	"github.com/bloomery/bloomery/internal/kernel"
)

// Freeze returns the filter as it is now, to be encoded while it changes; nil for a zero
// Filter. It is for programs of this module.
func (f *Filter) Freeze() *frozen.Pages {
	if f.shape.Buckets == 0 {
		return nil
	}
	return frozen.NewPages(f.header(), f.preface(), f.buckets.Words(), f.touches)
}

// touches names both buckets of a key, and those of the fingerprints that would be moved for it.
func (f *Filter) touches(h uint64, save func(from, to int)) {
	b := &f.buckets
	i, fingerprint := b.Place(h)
	j := b.Other(i, fingerprint)
	save(b.Span(i))
	save(b.Span(j))
	if b.Count(i, 0)+b.Count(j, 0) == 0 {
		path(b, i, j, func(bucket uint64) { save(b.Span(bucket)) })
	}
}

// path calls visit with the buckets that makeRoom would change.
func path(b *kernel.Buckets, i, j uint64, visit func(bucket uint64)) {
	var nodes [farNodes]uint64 // of which the near ones are looked at first, too
	nodes[0], nodes[1] = i, j
	t := tree(nodes[:])
	k, s, ok := t.search(b)
	if !ok {
		return
	}
	visit(b.Other(t[k], b.Slot(t[k], s)))
	for ; k >= 2; k = (k - 2) / 4 {
		visit(t[k])
	}
	visit(t[k])
}
