package memory

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

const hugePage = 2 << 20

// physical returns the memory of the machine, or what the process may have of
// it (ulimit -v): beyond that limit Go ends the process.
func physical() uint64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0
	}
	total := uint64(info.Totalram) * uint64(info.Unit) //nolint:unconvert // 32 bits on some machines
	var addresses unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &addresses); err != nil {
		return total
	}
	return min(total, addresses.Cur)
}

// adviseHuge asks for huge pages in the part of b that whole huge pages cover:
// for memory that was never touched when it is first touched, for memory that
// the heap used before, and so lies in small pages, at once. That second
// question costs one to two seconds per GiB of small pages and nothing
// otherwise. A kernel that refuses changes nothing but the speed, so errors are
// dropped.
func adviseHuge(b []byte) {
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) % hugePage)
	n := (len(b) - skip) &^ (hugePage - 1)
	if n <= 0 {
		return
	}
	_ = unix.Madvise(b[skip:skip+n], unix.MADV_HUGEPAGE)
	_ = unix.Madvise(b[skip:skip+n], unix.MADV_COLLAPSE)
}
