package timing

import "time"

// Clock returns a time of which only differences mean something.
type Clock func() time.Duration

var begin = time.Now()

// Wall is the time that passes.
func Wall() time.Duration { return time.Since(begin) }
