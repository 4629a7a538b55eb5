//go:build bloomerydebug && !linux

package order

import "time"

// ThreadUsage returns nothing here: nothing in the standard library tells.
func ThreadUsage() (cpu time.Duration, waits int64) { return 0, 0 }
