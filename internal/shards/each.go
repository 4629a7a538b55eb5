package shards

import (
	"context"
	"sync"
	"sync/atomic"
)

// Each calls run for every i from 0 to n-1, on as many goroutines as there
// are workers, and waits for them. worker is less than workers, and the calls
// with the same worker come one after the other, so that each worker can have
// buffers of its own. After an error, or when ctx is cancelled, no further
// calls begin; Each returns the first error.
func Each(ctx context.Context, n, workers int, run func(worker, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	work := func(worker int) {
		for ctx.Err() == nil {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			if err := run(worker, i); err != nil {
				cancel(err)
				return
			}
		}
	}
	var wg sync.WaitGroup
	for worker := 1; worker < min(workers, n); worker++ {
		wg.Go(func() { work(worker) })
	}
	work(0)
	wg.Wait()
	return context.Cause(ctx)
}
