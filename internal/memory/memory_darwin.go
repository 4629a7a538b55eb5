package memory

import (
	"math"

	"golang.org/x/sys/unix"
)

func physical() uint64 {
	n, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0
	}
	return n
}

// adviseHuge does nothing: macOS has no such advice.
func adviseHuge([]byte) {}

// adviseSmall does nothing: macOS has no such advice.
func adviseSmall([]byte) {}

// collapseHuge does nothing: macOS has no such advice.
func collapseHuge([]byte) {}

// adviseAround does nothing: macOS has no such advice.
func adviseAround([]byte) {}

// touch does nothing: macOS has no such advice.
func touch([]byte) bool { return false }

func resident([]byte) bool { return false }

// Addresses returns 2^64-1: no limit of addresses is known here.
func Addresses() uint64 { return math.MaxUint64 }
