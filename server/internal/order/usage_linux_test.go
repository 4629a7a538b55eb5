//go:build bloomerydebug

package order

import (
	"runtime"
	"syscall"
	"testing"
)

// TestThreadWaitsAreSeen asks for the waits of one thread: the process has more.
func TestThreadWaitsAreSeen(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_, waits := ThreadUsage()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil || waits >= u.Nvcsw {
		t.Errorf("the thread waited %d times, the process %d times (%v)", waits, u.Nvcsw, err)
	}
}
