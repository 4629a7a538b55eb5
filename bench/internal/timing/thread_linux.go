package timing

import (
	"time"

	"golang.org/x/sys/unix"
)

// Thread is the time that the present thread has run. A goroutine that compares
// two of its readings is locked to its thread.
func Thread() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return Wall()
	}
	return time.Duration(t.Nano())
}
