//go:build !linux

package folder

// Files that are read from the disk, where the system cannot be told.

// evict is not possible here.
func evict(string) {}
