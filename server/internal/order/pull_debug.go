//go:build bloomerydebug

package order

import "iter"

// Pull is iter.Pull, for a sequence that is read under the lock of a part. Who holds one stays on its thread while locks are
// recorded, and iter.Pull cannot be used from several threads: so the sequence has a goroutine.
func Pull[T any](seq iter.Seq[T]) (next func() (T, bool), stop func()) {
	values, more, over := make(chan T), make(chan bool), false
	go func() {
		defer close(values)
		if <-more {
			seq(func(v T) bool {
				values <- v
				return <-more
			})
		}
	}()
	next = func() (v T, ok bool) {
		if over {
			return v, false
		}
		more <- true
		v, ok = <-values
		over = !ok
		return v, ok
	}
	return next, func() {
		if !over {
			over = true
			close(more) // it reads false
			for range values {
			}
		}
	}
}
