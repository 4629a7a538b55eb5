//go:build unix

package regular

import "golang.org/x/sys/unix"

// atOnce has a named pipe opened without a program that writes to it.
const atOnce = unix.O_NONBLOCK
