//go:build !unix

package file

import (
	"io"
	"os"
)

// mapFile reads the first size bytes of f: this system has no mapping that we
// know of.
func mapFile(f *os.File, size int) ([]byte, error) {
	data := make([]byte, size)
	_, err := io.ReadFull(f, data)
	return data, err
}

func unmap([]byte) error { return nil }

// syncFolder does nothing: this system keeps names in order by itself, or has
// no way to be asked to.
func syncFolder(string) error { return nil }
