//go:build !unix

package main

import "os"

// isTerminal reports whether somebody sits at a stream: here, whether it is a
// device.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func terminalWidth(any) int { return defaultWidth }
