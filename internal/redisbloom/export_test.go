package redisbloom

import (
	"hash/crc32"
	"unsafe"
)

// AbsLn is the logarithm that sizes layers.
func AbsLn(x float64) float64 { return absLn(x) }

// Rem is the remainder by multiplication.
func Rem(x, m, inv uint64) uint64 { return rem(x, m, inv) }

// Accounted and Real are the memory of the structs: as accounted for, and as
// the compiler lays them out.
var (
	Accounted = [11]uintptr{bloomBytes, olderBytes, layerBytes, cuckooBytes, subBytes, fullBytes, countMinBytes, topKBytes, slotBytes, heapPartBytes, tdigestBytes}
	Real      = [11]uintptr{
		unsafe.Sizeof(Bloom{}), unsafe.Sizeof([]layer{}), unsafe.Sizeof(layer{}),
		unsafe.Sizeof(Cuckoo{}), unsafe.Sizeof(sub{}), unsafe.Sizeof(fullTable{}),
		unsafe.Sizeof(CountMin{}), unsafe.Sizeof(TopK{}), unsafe.Sizeof(slot{}), unsafe.Sizeof(chunk{}), unsafe.Sizeof(TDigest{}),
	}
)

// Checksum is that of the binary form.
func Checksum(data []byte) uint32 { return crc32.Checksum(data, castagnoli) }

// LoadAt stores data at an offset of the layers laid end to end.
func (b *Bloom) LoadAt(off uint64, data []byte) error { return b.loadAt(off, data) }

// LoadAt stores data at an offset of the sub-filters laid end to end.
func (c *Cuckoo) LoadAt(off uint64, data []byte) error { return c.loadAt(off, data) }

// Column is the remainder of a hash by a width.
func Column(h uint32, width uint64) uint64 { return newColumns(width).of(h) }

// SortNodes sorts nodes of a digest, each a mean and a weight.
func SortNodes(nodes []uint64) { sortNodes(nodes) }

// Chance is the chance that a count falls by one, times 2^64.
func (t *TopK) Chance(count uint32) uint64 { return t.chance(count) }
