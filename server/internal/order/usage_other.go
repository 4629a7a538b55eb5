//go:build bloomerydebug && !linux

package order

// Processor time of a thread, where the system does not have it.

import "time"

// ThreadUsage returns nothing here: the standard library does not have it.
func ThreadUsage() (cpu time.Duration, waits int64) { return 0, 0 }
