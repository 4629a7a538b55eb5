//go:build !linux && !darwin

package memory

import "math"

func physical() uint64 { return 0 }

// adviseHuge does nothing: only Linux has such advice.
func adviseHuge([]byte) {}

// adviseSmall does nothing: only Linux has such advice.
func adviseSmall([]byte) {}

// collapseHuge does nothing: only Linux has such advice.
func collapseHuge([]byte) {}

// adviseAround does nothing: only Linux has such advice.
func adviseAround([]byte) {}

// touch does nothing: only Linux has such advice.
func touch([]byte) bool { return false }

func resident([]byte) bool { return false }

// Addresses returns 2^64-1: no limit of addresses is known here.
func Addresses() uint64 { return math.MaxUint64 }
