// Locks on files by LockFileEx.

package main

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockHandle locks an open file, or returns errLocked. The lock ends with the
// process at the latest.
func lockHandle(f *os.File) error {
	const how = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, new(windows.Overlapped))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return errLocked
	}
	return err
}
