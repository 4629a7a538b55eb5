//go:build unix && !solaris && !aix

package file

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// claim locks a temporary file that was created until release is called, so that
// nobody takes it for a leftover. The lock outlives Close, since the file is renamed
// after that, and ends with the process at the latest. The error is fs.ErrExist if
// another took the file for a leftover, between its creation and its lock, and
// removes it. On a file system without locks nobody can take it for one.
func claim(f *os.File) (release func(), err error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	if errors.Is(flock(fd), unix.EWOULDBLOCK) || !isNamed(f) {
		_ = unix.Close(fd)
		return nil, fs.ErrExist
	}
	return func() { _ = unix.Close(fd) }, nil
}

// removeLeftover removes a temporary file that nobody writes: that of a process
// that was killed.
func removeLeftover(name string) {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	defer f.Close() //nolint:errcheck // nothing was written
	if flock(int(f.Fd())) == nil && isNamed(f) {
		_ = os.Remove(name) // who has the lock is the only one to remove or rename it
	}
}

// isNamed reports whether an open file is regular and has its name still.
func isNamed(f *os.File) bool {
	have, err := f.Stat()
	if err != nil || !have.Mode().IsRegular() {
		return false
	}
	there, err := os.Lstat(f.Name())
	return err == nil && os.SameFile(have, there)
}

// flock locks an open file unless another has the lock.
func flock(fd int) error {
	for {
		if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
