//go:build bloomerydebug

package server_test

import (
	"fmt"
	"os"

	"github.com/bloomery/bloomery/server/internal/order"
)

// chaosFactor is how much longer everything may take while locks are recorded.
const chaosFactor = 10

// recordLocks begins to look at the locks.
func recordLocks() { order.Record(true) }

// chaosLocks says what was recorded of the locks and returns the exit code of the
// server: 1 if one was taken in the wrong order, or somebody waited under one.
func chaosLocks() int {
	r := order.Take()
	fmt.Fprintln(os.Stderr, r)
	for _, what := range append(r.Inversions, r.Waits...) {
		fmt.Fprintln(os.Stderr, what)
	}
	if len(r.Inversions)+len(r.Waits) > 0 || r.Locks == 0 {
		return 1
	}
	return 0
}
