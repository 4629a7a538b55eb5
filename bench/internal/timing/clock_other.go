//go:build !linux

package timing

import "time"

// CPU is Wall: only Linux is asked for the time that threads have run.
func CPU() time.Duration { return Wall() }
