//go:build linux || solaris || aix

// The requests for terminal settings on Linux and System V.

package main

import "golang.org/x/sys/unix"

// The requests that read and write the modes of a terminal.
const (
	getTermios = unix.TCGETS
	setTermios = unix.TCSETS
)
