//go:build torture

// The clock of programs for make torture, which can be set.

package main

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// clock is ahead of the system's by as many milliseconds as the file says that
// BLOOMERY_TORTURE_CLOCK names.
var clock = jumpingClock(os.Getenv("BLOOMERY_TORTURE_CLOCK"))

func jumpingClock(file string) func() time.Time {
	if file == "" {
		return nil
	}
	var ahead atomic.Int64
	look := func() {
		b, err := os.ReadFile(file)
		if n, bad := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && bad == nil {
			ahead.Store(n)
		}
	}
	look()
	go func() {
		for range time.Tick(50 * time.Millisecond) {
			look()
		}
	}()
	return func() time.Time { return time.Now().Add(time.Duration(ahead.Load()) * time.Millisecond) }
}
