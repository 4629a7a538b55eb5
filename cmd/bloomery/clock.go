//go:build !torture

package main

// The clock of the program.

import "time"

// clock is the server's clock; nil is that of the system. Programs for make torture
// have another one.
var clock func() time.Time
