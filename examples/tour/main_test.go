package main

import "testing"

// Every step of docs/library.md succeeds.
func TestSteps(t *testing.T) {
	for i, step := range []func() error{parameters, batches, deletes, corrections, goroutines, files, distant, unsized, static, kinds} {
		if err := step(); err != nil {
			t.Errorf("step %d: %v", i, err)
		}
	}
}
