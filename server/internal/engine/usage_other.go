//go:build bloomerydebug && !linux

package engine

import "time"

// threadUsage returns nothing here: nothing in the standard library tells.
func threadUsage() (cpu time.Duration, waits int64) { return 0, 0 }
