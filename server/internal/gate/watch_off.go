//go:build !bloomerydebug

package gate

// The records of the gate in a usual build: none.

// watch does nothing in a usual build: see watch_debug.go.
type watch struct{}

func (watch) entered(int) {}
func (watch) left(int)    {}
func (watch) closed()     {}
func (watch) opened()     {}

func (watch) waits(bool, string) {}
