package folder

// What Linux knows of disks: how much room there is, and what is really on them.

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

func free(path string) (bytes uint64, known bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0, false
	}
	return st.Bavail * uint64(st.Bsize), true
}
