package memory

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

const hugePage = 2 << 20

// physical returns the memory of the machine, or what the process may have of
// it if that is less: by ulimit -v, beyond which Go ends the process, or by its
// control groups, beyond which the kernel does.
func physical() uint64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0
	}
	total := uint64(info.Totalram) * uint64(info.Unit) //nolint:unconvert // 32 bits on some machines
	return min(total, cgroupLimit(readFile), Addresses())
}

// Addresses returns how many addresses the process may still map, by ulimit -v; 2^64-1 if they are not
// limited. The program itself has mapped over a GiB of them that takes no memory.
func Addresses() uint64 {
	var addresses unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &addresses); err != nil || addresses.Cur == unix.RLIM_INFINITY {
		return math.MaxUint64
	}
	text, _ := readFile("/proc/self/statm")
	pages, _, _ := strings.Cut(text, " ")
	mapped, err := strconv.ParseUint(pages, 10, 64)
	if err != nil {
		return addresses.Cur
	}
	return addresses.Cur - min(addresses.Cur, mapped*uint64(unix.Getpagesize()))
}

// adviseHuge asks for huge pages in the part of b that whole huge pages cover.
// The kernel gives them when memory is first touched. A kernel that refuses
// changes nothing but the speed, so errors are dropped.
func adviseHuge(b []byte) {
	if b = wholePages(b); len(b) > 0 {
		_ = unix.Madvise(b, unix.MADV_HUGEPAGE)
	}
}

// adviseSmall asks for pages of the usual size, where huge ones are the rule, in the same part of b.
func adviseSmall(b []byte) {
	if b = wholePages(b); len(b) > 0 {
		_ = unix.Madvise(b, unix.MADV_NOHUGEPAGE)
	}
}

// collapseHuge asks to move memory that the heap used before, and that so lies
// in small pages, to huge pages at once. That takes one to two seconds per GiB
// of small pages and no time for memory that was never touched.
func collapseHuge(b []byte) {
	if b = wholePages(b); len(b) > 0 {
		_ = unix.Madvise(b, unix.MADV_COLLAPSE)
	}
}

// resident reports whether b, which begins on a page boundary and has 2 MiB at most, has pages in memory.
func resident(b []byte) bool {
	var there [hugePage / 4096]byte
	_, _, failed := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), uintptr(unsafe.Pointer(&there)))
	return failed != 0 || slices.ContainsFunc(there[:], func(v byte) bool { return v&1 != 0 })
}

// touch has the kernel make the pages of b, which begins on a page boundary. It reports whether the kernel can.
func touch(b []byte) bool { return unix.Madvise(b, unix.MADV_POPULATE_WRITE) == nil }

// adviseAround asks for huge pages where b lies, whatever else lies in them, and
// moves it there if it lies in small ones. The address is a number here: the
// pages hold memory that is not b's, and nothing of it is read or written.
func adviseAround(b []byte) {
	first := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	from := first &^ (hugePage - 1)
	length := (first+uintptr(len(b))+hugePage-1)&^(hugePage-1) - from
	for _, advice := range []uintptr{unix.MADV_HUGEPAGE, unix.MADV_COLLAPSE} {
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, from, length, advice)
	}
}

// wholePages returns the part of b that whole huge pages cover.
func wholePages(b []byte) []byte {
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) % hugePage)
	n := (len(b) - skip) &^ (hugePage - 1)
	if n <= 0 {
		return nil
	}
	return b[skip : skip+n]
}
