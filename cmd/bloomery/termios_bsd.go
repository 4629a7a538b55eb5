//go:build darwin || dragonfly || freebsd || netbsd || openbsd

// The requests for terminal settings on BSD and macOS.

package main

import "golang.org/x/sys/unix"

// The requests that read and write the modes of a terminal.
const (
	getTermios = unix.TIOCGETA
	setTermios = unix.TIOCSETA
)
