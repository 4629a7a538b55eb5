//go:build unix

package file

import (
	"os"

	"golang.org/x/sys/unix"
)

// mapFile returns the first size bytes of f as read-only memory.
func mapFile(f *os.File, size int) ([]byte, error) {
	data, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, os.NewSyscallError("mmap", err)
	}
	return data, nil
}

// unmap gives back what mapFile returned.
func unmap(data []byte) error { return os.NewSyscallError("munmap", unix.Munmap(data)) }

// syncFolder puts the names in a folder on the disk.
func syncFolder(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	err = d.Sync()
	if e := d.Close(); err == nil {
		err = e
	}
	return err
}
