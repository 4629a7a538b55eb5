//go:build !unix

// Systems on which a closed standard output is not noticed.

package main

import "os"

// closedAtStart reports whether a standard stream is closed.
func closedAtStart(f *os.File) bool {
	_, err := f.Stat()
	return err != nil
}
