//go:build !linux

package filter_test

import "time"

// threadTime reports that the time of a thread is not known.
func threadTime() (time.Duration, bool) { return 0, false }
