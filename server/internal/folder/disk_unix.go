//go:build unix && !solaris && !aix

package folder

// Folders on Unix.

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// syncFolder makes the entries of a folder durable.
func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// lockFolder locks the folder itself: no file is made, and none whose removal
// would let another process in. The lock ends with the process, however it ends.
func lockFolder(path string) (io.Closer, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = ErrLocked
	}
	if err != nil {
		return nil, errors.Join(&os.PathError{Op: "lock", Path: path, Err: err}, f.Close())
	}
	return f, nil
}
