//go:build !torture

// The clock of the program.

package main

import "time"

// clock is the server's clock; nil is that of the system. Programs for make torture
// have another one.
var clock func() time.Time
