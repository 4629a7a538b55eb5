package folder

// Files that are read from the disk, on Linux.

import (
	"os"

	"golang.org/x/sys/unix"
)

// evict drops what the system has in memory of a file. An error means that it stays.
func evict(path string) {
	f, err := os.Open(path)
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }() // nothing was written
	_ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
}
