//go:build !unix && !windows

// Systems whose terminals are not known.

package main

import "os"

// isTerminal reports whether somebody sits at a stream: here, whether it is a
// device.
func isTerminal(stream any) bool {
	f, ok := fileOf(stream)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func terminalSize(any) (width, height int) { return defaultWidth, defaultHeight }

// rawTerminal changes nothing here: keys need an Enter behind them.
func rawTerminal(any) (restore func(), err error) { return func() {}, nil }

// resizes returns a channel that reports nothing here.
func resizes() (resized <-chan os.Signal, forget func()) { return nil, func() {} }
