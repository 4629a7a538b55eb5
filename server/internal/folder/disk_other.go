//go:build !windows && (!unix || solaris || aix)

package folder

// Folders on other systems.

import (
	"io"
	"os"
)

// syncFolder does nothing here.
func syncFolder(string) error { return nil }

// lockFolder takes no lock here: nothing in the standard library gives one.
func lockFolder(path string) (io.Closer, error) { return os.Open(path) }
