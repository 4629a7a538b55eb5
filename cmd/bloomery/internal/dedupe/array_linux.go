package dedupe

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

const hugePage = 2 << 20

// advise asks for huge pages where whole ones are covered: random steps in an
// array larger than the TLB reaches take less time. They are given when they
// are touched, like small ones. A kernel that refuses changes the speed only.
func advise(b []byte) {
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) % hugePage)
	if n := (len(b) - skip) &^ (hugePage - 1); n > 0 {
		_ = unix.Madvise(b[skip:skip+n], unix.MADV_HUGEPAGE)
	}
}
