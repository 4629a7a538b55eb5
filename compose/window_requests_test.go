package compose_test

import (
	"fmt"
	"sync"
	"time"

	"github.com/bloomery/bloomery/compose"
)

// seen is a window that many requests share.
type seen struct {
	mu     sync.Mutex
	window *compose.Window
}

// first reports whether key did not occur in the last 24 hours.
func (s *seen) first(key string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.window.Advance(uint64(now.Unix() / 3600)) // an hour is a generation
	return s.window.AddString(key)
}

func ExampleWindow_requests() {
	s := seen{window: compose.NewWindow(1_000_000, 0.001, 24)} // a million keys a day
	noon := time.Date(2026, time.May, 1, 12, 0, 0, 0, time.UTC)
	fmt.Println(s.first("alice", noon), s.first("alice", noon.Add(24*time.Hour)))
	fmt.Println(s.first("alice", noon.Add(49*time.Hour)))
	// Output:
	// true false
	// true
}
