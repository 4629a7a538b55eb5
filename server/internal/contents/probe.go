package contents

// Probing a filter with random hashes.

import (
	"github.com/bloomery/bloomery"
	bits "github.com/bloomery/bloomery/bloom"
	composed "github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
)

// digestSalt makes the second half of a BF's digest from the first.
const digestSalt = 0x62662070726f6265

// look calls f with the contents under the read lock. It reports false, and does not
// call f, if the filter is gone, still being loaded or held by other nodes; and, unless wait is set, if a
// writer has the lock or waits for it.
func (p *Part) look(wait bool, f func(Contents)) bool {
	if wait {
		p.mu.RLock()
	} else if !p.mu.TryRLock() {
		return false
	}
	defer p.mu.RUnlock()
	if p.Gone() || p.contents == nil {
		return false
	}
	switch p.contents.(type) {
	case *loading, *elsewhere:
		return false
	}
	f(p.contents)
	return true
}

// Probe asks the filter for random hashes, at most 64, and returns the number of
// positive answers. It changes nothing. It reports false as look does. dst is
// scratch memory of the same length.
func (p *Part) Probe(dst []bool, hs []uint64, wait bool) (yes int, ok bool) {
	ok = p.look(wait, func(c Contents) { probe(c, dst, hs) })
	if !ok {
		return 0, false
	}
	for _, v := range dst[:len(hs)] {
		if v {
			yes++
		}
	}
	return yes, true
}

// probe sets dst[i] to whether c has hs[i].
func probe(c Contents, dst []bool, hs []uint64) {
	switch c := c.(type) {
	case bloom:
		var digests [64]redisbloom.Digest
		for i, h := range hs {
			digests[i] = redisbloom.Digest{A: h, B: bloomery.Salted(h, digestSalt)}
			if c.Narrow() {
				digests[i].A, digests[i].B = digests[i].A>>32, digests[i].B>>32
			}
		}
		c.ContainsDigests(dst, digests[:len(hs)])
	case cuckoo:
		c.ContainsDigests(dst, hs)
	case *Filter:
		c.f.ContainsHashes(dst, hs)
	}
}

// IsFilter reports whether an entry is a filter that answers which items it has:
// no string and no sketch.
func IsFilter(e *catalog.Entry) bool {
	return e.Kind == catalog.Bloom || e.Kind == catalog.Cuckoo || e.Kind == catalog.Filter
}

// Look is a part as it is at one moment.
type Look struct {
	bloomery.Stats
	// Version is that of Part.Version.
	Version uint64
	// Layers is the number of layers, generations, members or sub-filters.
	Layers int
	// Grows reports that the part takes any number of items, Folds that it can
	// be halved.
	Grows, Folds bool
	// Sourced reports that its bits are those of sources.
	Sourced bool
}

// Look describes the part. It reports false as Probe does.
func (p *Part) Look(wait bool) (l Look, ok bool) {
	ok = p.look(wait, func(c Contents) {
		l = Look{Stats: c.Stats(), Version: p.version, Layers: 1}
		switch c := c.(type) {
		case bloom:
			l.Layers, l.Grows = c.Layers(), !c.NonScaling()
		case cuckoo:
			l.Layers, l.Grows = c.Filters(), c.Expansion() > 0
		case *Filter:
			l.Bytes = c.taken(l.Stats)
			l.Sourced = c.sourced()
			l.Layers, l.Folds = layersOf(c.f), folds(c.f) && !l.Sourced
			if row := p.Row(); row != nil {
				l.Kind = row.Name
				l.Grows = row.Features.Grow || row.Features.Forget || row.Features.Expire
			}
		}
	})
	return l, ok
}

// layersOf returns the number of layers, generations or members of a filter.
func layersOf(f bloomery.Hashed) int {
	switch f := f.(type) {
	case interface{ Layers() int }:
		return f.Layers()
	case *composed.Window:
		return f.Shape().Generations
	case *composed.Quorum:
		return len(f.Members())
	}
	return 1
}

// folds reports whether a filter can be halved, as bloom.Filter.Fold says.
func folds(f bloomery.Hashed) bool {
	switch f := f.(type) {
	case *bits.Filter:
		s := f.Shape()
		return s.K == 8 && s.Bits/s.Layout.Unit()%2 == 0
	case *bits.Standard:
		return f.Shape().Bits%2 == 0
	case *bits.Split:
		return f.Shape().Bits/f.Shape().Layout.Unit()%2 == 0
	}
	return false
}

// Glance returns the version of the part. It reports false as Probe does.
func (p *Part) Glance(wait bool) (version uint64, ok bool) {
	ok = p.look(wait, func(Contents) { version = p.version })
	return version, ok
}

// Size returns the memory of the part. It reports false as Probe does.
func (p *Part) Size(wait bool) (bytes uint64, ok bool) {
	ok = p.look(wait, func(c Contents) { bytes = c.Bytes() })
	return bytes, ok
}
