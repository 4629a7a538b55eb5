//go:build unix && !solaris && !aix

// Locks on files by flock.

package main

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockHandle locks an open file, or returns errLocked. The lock ends with the
// process at the latest.
func lockHandle(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return errLocked
		default:
			return err
		}
	}
}
