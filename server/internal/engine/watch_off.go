//go:build !bloomerydebug

package engine

// The records of the gate in a usual build: none.

// gateWatch does nothing in a usual build: see watch_debug.go.
type gateWatch struct{}

func (gateWatch) entered(int) {}
func (gateWatch) left(int)    {}
func (gateWatch) closed()     {}
func (gateWatch) opened()     {}

// waits notes that a session is about to wait.
func (gateWatch) waits(*Session, string) {}
