//go:build !windows && (!unix || solaris || aix)

package local

import (
	"io"
	"os"
)

// syncFolder does nothing here.
func syncFolder(string) error { return nil }

// lockFile takes no lock here: nothing in the standard library gives one.
func lockFile(path string) (io.Closer, error) { return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o640) }
