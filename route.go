package bloomery

// Constants of the mixers below. Changing one changes where keys live.
const (
	routeMul1 = 0xbf58476d1ce4e5b9
	routeMul2 = 0x94d049bb133111eb
	saltAdd   = 0x9e3779b97f4a7c15
)

// Route returns which of 2^n parts the key with hash h belongs to. Parts,
// stripes and shards that are filters of their own must be chosen by Route,
// never by bits of h itself: filters place keys by the top bits of h, and a
// part chosen by the same bits would fill only a fraction of its array. n is at
// most 30; Route(h, 0) is 0.
func Route(h uint64, n uint) int {
	return int(remix(h) >> (63 - n) >> 1)
}

// Salted returns another hash of the same key, practically independent of h and
// of the hash under any other salt. Filters that hold the same keys and are
// asked together take one salt each, so that their errors are independent.
func Salted(h, salt uint64) uint64 {
	return remix(h ^ remix(salt+saltAdd))
}

// remix is a bijection of 64 bits in which every bit of h moves every bit of
// the result (the finalizer of SplitMix64).
func remix(h uint64) uint64 {
	h = (h ^ h>>30) * routeMul1
	h = (h ^ h>>27) * routeMul2
	return h ^ h>>31
}
