package engine

import "time"

// Worked returns a clock of the processor time of the thread that reads it.
func Worked() func() time.Duration { return worked() }
