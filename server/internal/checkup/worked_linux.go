package checkup

// A clock of processor time.

import (
	"time"

	"golang.org/x/sys/unix"
)

// Worked returns a clock of the processor time of the thread that reads it.
// Whoever reads it twice stays on its thread.
func Worked() func() time.Duration {
	return func() time.Duration {
		var ts unix.Timespec
		if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) != nil {
			return 0
		}
		return time.Duration(ts.Nano())
	}
}
