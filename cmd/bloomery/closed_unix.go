//go:build unix

// Whether standard output was closed when the program started.

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// closedAtStart reports whether a standard stream was closed when the program
// started. Go opens /dev/null in the place of such a stream, for reading and
// writing; a shell opens an output for writing only.
func closedAtStart(f *os.File) bool {
	if f.Fd() > 2 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	if err != nil {
		return false
	}
	info, err := f.Stat()
	if err != nil || !os.SameFile(null, info) {
		return err != nil
	}
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	return err != nil || flags&unix.O_ACCMODE == unix.O_RDWR
}
