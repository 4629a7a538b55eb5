//go:build unix

// Terminals of Unix: size, single keys, changes of size.

package main

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// isTerminal reports whether somebody sits at a stream.
func isTerminal(stream any) bool {
	f, ok := fileOf(stream)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	return err == nil
}

// terminalSize returns how many characters fit in a line, and how many lines on the
// screen: 80 and 24 if nobody knows.
func terminalSize(stream any) (width, height int) {
	if f, ok := fileOf(stream); ok {
		if size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ); err == nil && size.Col > 0 && size.Row > 0 {
			return int(size.Col), int(size.Row)
		}
	}
	return defaultWidth, defaultHeight
}

// rawTerminal makes a terminal pass on every key as it is pressed, Ctrl-C too, and
// show none. It returns what undoes that.
func rawTerminal(stream any) (restore func(), err error) {
	f, ok := fileOf(stream)
	if !ok {
		return func() {}, nil
	}
	fd := int(f.Fd())
	before, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return nil, err
	}
	raw := *before
	raw.Lflag &^= unix.ICANON | unix.ECHO | unix.ISIG | unix.IEXTEN
	raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(fd, setTermios, &raw); err != nil {
		return nil, err
	}
	return func() { _ = unix.IoctlSetTermios(fd, setTermios, before) }, nil
}

// resizes returns a channel that reports when the terminal has another size, until
// forget is called.
func resizes() (resized <-chan os.Signal, forget func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGWINCH)
	return c, func() { signal.Stop(c) }
}
