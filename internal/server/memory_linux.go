package server

import "syscall"

// PhysicalMemory returns the memory of this machine in bytes.
func PhysicalMemory() int64 {
	var info syscall.Sysinfo_t
	if err := syscall.Sysinfo(&info); err != nil {
		return unknownMemory
	}
	return int64(info.Totalram) * int64(info.Unit)
}
