//go:build !linux

package main

// limitMemory does nothing: only Linux limits addresses reliably.
func limitMemory() error { return nil }
