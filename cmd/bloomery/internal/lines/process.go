// Process, which works on batches at the same time and returns them in order.

package lines

import (
	"context"
	"errors"
	"io"
	"sync"
)

// readAhead is how many blocks there are beside those that are worked on: one
// that is read and one that is emitted.
const readAhead = 2

// keepFactor is how much larger than a block the buffer of a long record may
// be and yet be kept.
const keepFactor = 4

// slot is a batch with its scratch memory, on its way round.
type slot[S any] struct {
	Batch
	scratch S
	done    chan error
}

// Process reads all records of in. It calls work for each batch, at once from
// so many goroutines, and then emit for the same batch and scratch, in the
// order of the input and on the goroutine of the caller. work may be nil. The
// scratch is zero at first and comes round again with what it held: there are
// workers + 2 of them.
//
// It returns the first error in the order of the input: that of a file, work
// or emit; or that of ctx. Then no more calls are made, and none is under way.
// A read that blocks is not waited for: it goes on behind, and what it reads is
// lost.
func Process[S any](ctx context.Context, in *Input, workers int, work, emit func(*Batch, *S) error) error {
	ctx, cancel := context.WithCancel(ctx)
	workers = max(workers, 1)
	slots := workers + readAhead
	free, jobs, order := make(chan *slot[S], slots), make(chan *slot[S], slots), make(chan *slot[S], slots)
	for range slots {
		free <- &slot[S]{done: make(chan error, 1)}
	}
	go func() {
		defer close(order)
		defer close(jobs)
		readAll(ctx, in, free, jobs, order)
	}()
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() { workAll(ctx, in, jobs, work) })
	}
	defer wg.Wait()
	defer cancel() // before the wait
	return emitAll(ctx, in, order, free, emit)
}

// readAll reads all files into free slots. An error goes the way of the batches,
// so that those before it come first.
func readAll[S any](ctx context.Context, in *Input, free <-chan *slot[S], jobs, order chan<- *slot[S]) {
	r := reader{in: in, names: in.names()}
	defer r.close()
	for {
		var b *slot[S]
		select {
		case b = <-free:
		case <-ctx.Done():
			return
		}
		err := r.next(&b.Batch)
		if errors.Is(err, io.EOF) {
			return
		}
		order <- b // there is room for all slots
		if err != nil {
			b.done <- err
			return
		}
		jobs <- b
	}
}

// workAll works on batches until there are no more.
func workAll[S any](ctx context.Context, in *Input, jobs <-chan *slot[S], work func(*Batch, *S) error) {
	for {
		select {
		case <-ctx.Done():
			return
		case b, ok := <-jobs:
			if !ok {
				return
			}
			err := b.split(in)
			if err == nil && work != nil {
				err = work(&b.Batch, &b.scratch)
			}
			b.done <- err
		}
	}
}

// emitAll hands batches on in the order of the input.
func emitAll[S any](ctx context.Context, in *Input, order <-chan *slot[S], free chan<- *slot[S], emit func(*Batch, *S) error) error {
	for {
		var b *slot[S]
		select {
		case <-ctx.Done():
			return ctx.Err()
		case b = <-order:
			if b == nil { // closed
				return ctx.Err()
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-b.done:
			if err == nil {
				err = emit(&b.Batch, &b.scratch)
			}
			if err != nil {
				return err
			}
		}
		if cap(b.buf) > keepFactor*in.block() {
			b.Batch = Batch{}
		}
		free <- b
	}
}
