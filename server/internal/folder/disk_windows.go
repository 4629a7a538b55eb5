package folder

// Folders on Windows.

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// syncFolder does nothing: Windows keeps the entries of a folder in its own log.
func syncFolder(string) error { return nil }

// lockFolder opens a file of the folder that nobody else may open or remove
// meanwhile, and that is gone when it is closed.
func lockFolder(dir string) (io.Closer, error) {
	path := filepath.Join(dir, lockName)
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	const (
		deleteOnClose    = 0x04000000
		sharingViolation = syscall.Errno(32)
	)
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL|deleteOnClose, 0)
	if errors.Is(err, sharingViolation) {
		return nil, ErrLocked
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(h), path), nil
}
