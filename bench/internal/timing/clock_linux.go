package timing

import (
	"time"

	"golang.org/x/sys/unix"
)

// CPU is the time that the threads of this process have run. On a machine that
// others use as well it measures the cost of a loop where Wall measures how often the
// loop had to wait.
func CPU() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		return Wall()
	}
	return time.Duration(t.Nano())
}
