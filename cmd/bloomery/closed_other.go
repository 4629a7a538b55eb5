//go:build !unix

package main

import "os"

// closedAtStart reports whether a standard stream is closed.
func closedAtStart(f *os.File) bool {
	_, err := f.Stat()
	return err != nil
}
