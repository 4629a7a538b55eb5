//go:build unix

package memory

import (
	"math"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapStep is what arrays from that size on are rounded up to, in addresses, not in
// memory: Linux places a mapping at the beginning of a huge page only if it is as
// long as whole huge pages.
const mapStep = 2 << 20

func mapped(bytes int) ([]byte, error) {
	b, err := unix.Mmap(-1, 0, reach(bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, err
	}
	return b[:bytes:bytes], nil
}

func unmapped(b []byte) error { return unix.Munmap(unsafe.Slice(unsafe.SliceData(b), reach(len(b)))) }

// reach returns how many addresses an array takes.
func reach(bytes int) int {
	if bytes < mapStep || bytes > math.MaxInt-mapStep {
		return bytes
	}
	return (bytes + mapStep - 1) &^ (mapStep - 1)
}
