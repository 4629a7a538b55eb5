package main

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// writer adds numbers to a filter of its own, a batch after the other, and counts
// those that were acknowledged. The filter has so few false positives that a number
// that is lost is seen.
type writer struct {
	filter string
	acked  atomic.Uint64 // all numbers below it are
	stop   chan struct{}
	done   chan error
}

const (
	writerBatch = 100
	writerPause = 5 * time.Millisecond // so that others have the processors too
	writerSize  = 1_000_000
)

// write starts a writer that writes until the node is killed, or stop.
func write(addr, filter string) (*writer, error) {
	c, err := dial(addr)
	if err != nil {
		return nil, err
	}
	if err := c.run("DEL "+filter, fmt.Sprintf("BF.RESERVE %s 0.000000001 %d", filter, writerSize)); err != nil {
		c.close()
		return nil, err
	}
	w := &writer{filter: filter, stop: make(chan struct{}), done: make(chan error, 1)}
	go func() {
		defer c.close()
		w.done <- w.run(c)
	}()
	return w, nil
}

func (w *writer) run(c *client) error {
	for n := uint64(0); n < writerSize; n += writerBatch {
		select {
		case <-w.stop:
			return nil
		case <-time.After(writerPause):
		}
		c.out = appendHead(c.out, "BF.MADD", w.filter, writerBatch)
		for i := range uint64(writerBatch) {
			c.out = appendNumber(c.out, n+i)
		}
		if err := c.send(); err != nil {
			return err
		}
		if _, err := c.receive(); err != nil {
			return err
		}
		w.acked.Store(n + writerBatch)
	}
	return errors.New("the filter of the load is full")
}

// end stops the writer and returns what it met.
func (w *writer) end() error {
	close(w.stop)
	return <-w.done
}

// upTo returns the numbers below n.
func upTo(n uint64) []uint64 {
	list := make([]uint64, n)
	for i := range list {
		list[i] = uint64(i)
	}
	return list
}
