package redisbloom

import (
	"hash/crc32"
	"unsafe"
)

// NegLn is the logarithm that sizes layers.
func NegLn(x float64) float64 { return negLn(x) }

// Rem is the remainder by multiplication.
func Rem(x, m, inv uint64) uint64 { return rem(x, m, inv) }

// Accounted and Real are the memory of the structs: as accounted for, and as
// the compiler lays them out.
var (
	Accounted = [6]uintptr{bloomBytes, olderBytes, layerBytes, cuckooBytes, subBytes, fullBytes}
	Real      = [6]uintptr{
		unsafe.Sizeof(Bloom{}), unsafe.Sizeof([]layer{}), unsafe.Sizeof(layer{}),
		unsafe.Sizeof(Cuckoo{}), unsafe.Sizeof(sub{}), unsafe.Sizeof(fullTable{}),
	}
)

// Checksum is that of the binary form.
func Checksum(data []byte) uint32 { return crc32.Checksum(data, castagnoli) }

// LoadAt stores data at an offset of the layers laid end to end.
func (b *Bloom) LoadAt(off uint64, data []byte) error { return b.loadAt(off, data) }

// LoadAt stores data at an offset of the sub-filters laid end to end.
func (c *Cuckoo) LoadAt(off uint64, data []byte) error { return c.loadAt(off, data) }
