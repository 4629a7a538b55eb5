//go:build !linux

package timing

import "time"

// Thread is Wall: only Linux is asked for the time that a thread has run.
func Thread() time.Duration { return Wall() }
