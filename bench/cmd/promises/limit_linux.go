package main

import "golang.org/x/sys/unix"

// limitMemory keeps a hazard that wants all memory from taking it: above 7 GiB
// of addresses the kernel refuses.
func limitMemory() error {
	const most = 7 << 30
	return unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: most, Max: most})
}
