package fuse

import "github.com/bloomery/bloomery"

const (
	// group is how many keys' slots are asked for ahead: enough to keep the
	// memory busy, and few enough to stay in the first-level cache.
	group = 32
	// nearBits is the size of the arrays, 4 MiB, up to which nothing is asked
	// for ahead: they are about in the second-level cache.
	nearBits = 32 << 20
)

// hasAllAhead is hasAll for an array that is not in the cache: while the
// answers of one group are found, the slots of the next are on their way.
func (s *shard[T]) hasAllAhead(dst []bool, hs []uint64) {
	ahead := &s.ahead
	ahead.Prefetch(hs[:min(group, len(hs))])
	for len(hs) > group {
		ahead.Prefetch(hs[group:min(2*group, len(hs))])
		s.hasAll(dst[:group], hs[:group])
		dst, hs = dst[group:], hs[group:]
	}
	s.hasAll(dst, hs)
}

// routed is ContainsHashes for several shards, or one whose seed is not 0.
func (f *array[T]) routed(dst []bool, hs []uint64, far bool) {
	var which [group]*shard[T]
	var mixed [group]uint64
	for len(hs) > 0 {
		n := min(group, len(hs))
		for i, h := range hs[:n] {
			s := &f.shards[bloomery.Route(h, f.bits)]
			which[i], mixed[i] = s, s.mixed(h)
			if far {
				s.ahead.Prefetch(mixed[i : i+1])
			}
		}
		for i, s := range which[:n] {
			dst[i] = s.has(mixed[i])
		}
		dst, hs = dst[n:], hs[n:]
	}
}
