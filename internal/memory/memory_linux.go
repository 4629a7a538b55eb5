package memory

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

const hugePage = 2 << 20

func physical() uint64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0
	}
	return uint64(info.Totalram) * uint64(info.Unit) //nolint:unconvert // 32 bits on some machines
}

// adviseHuge asks for huge pages in the part of b that whole huge pages cover.
// A kernel that refuses changes nothing but the speed, so the error is dropped.
func adviseHuge(b []byte) {
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) % hugePage)
	if n := (len(b) - skip) &^ (hugePage - 1); n > 0 {
		_ = unix.Madvise(b[skip:skip+n], unix.MADV_HUGEPAGE)
	}
}
