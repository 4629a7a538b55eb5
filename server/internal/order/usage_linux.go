//go:build bloomerydebug

package order

// Processor time and waits of a thread.

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ThreadUsage returns the processor time of the calling thread, and how often it
// has waited for something. The usage of resources would have the time too, but
// in steps of 4 ms.
func ThreadUsage() (cpu time.Duration, waits int64) {
	const thisThread = 1
	var u syscall.Rusage
	var ts unix.Timespec
	if syscall.Getrusage(thisThread, &u) != nil || unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) != nil {
		return 0, 0
	}
	return time.Duration(ts.Nano()), u.Nvcsw
}
