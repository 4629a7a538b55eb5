package main

import (
	"errors"
	"sync"
	"sync/atomic"
)

// each does something to all elements, a few at a time. An error ends it when
// what has begun is done.
func each[T any](workers int, all []T, do func(i int, x *T) error) error {
	var next atomic.Int64
	var failed atomic.Bool
	var wg sync.WaitGroup
	errs := make([]error, workers)
	for w := range workers {
		wg.Go(func() {
			for !failed.Load() {
				i := int(next.Add(1)) - 1
				if i >= len(all) {
					return
				}
				if errs[w] = do(i, &all[i]); errs[w] != nil {
					failed.Store(true)
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
