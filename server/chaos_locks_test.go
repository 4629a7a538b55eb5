//go:build !bloomerydebug

package server_test

// recordLocks does nothing: the debug build begins to look at the locks.
func recordLocks() {}

// chaosLocks returns the exit code of the server: the debug build looks at its
// locks.
func chaosLocks() int { return 0 }
