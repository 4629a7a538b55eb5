//go:build !linux

package server

// PhysicalMemory returns the memory of this machine in bytes; here it is not
// known.
func PhysicalMemory() int64 { return unknownMemory }
