package main

import (
	"sync"
	"sync/atomic"
)

// each does something to all elements, a few at a time.
func each[T any](workers int, all []T, do func(i int, x *T)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(all) {
					return
				}
				do(i, &all[i])
			}
		})
	}
	wg.Wait()
}
