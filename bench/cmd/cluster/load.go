package main

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// load is what clients do during a run.
type load struct {
	name     string
	command  string
	filter   string // with a number behind it if there are several
	filters  int
	pipeline int
	items    int    // of a command
	clients  int    // in all
	keys     uint64 // adds: how many at most; reads: those that are drawn from, half of which are there
	reads    bool
	refused  *atomic.Uint64 // counts commands that no other node has answered, if it is not nil
}

// drive has clients, spread over the nodes, do what a load says for so long, or
// until all keys are added. It returns how many items they had answers for.
func (l *load) drive(addrs []string, d time.Duration) (items uint64, err error) {
	clients := make([]*client, l.clients)
	for i := range clients {
		if clients[i], err = dial(addrs[i%len(addrs)]); err != nil {
			return 0, err
		}
		defer clients[i].close()
	}
	var next, done atomic.Uint64
	errs := make([]error, len(clients))
	var wg sync.WaitGroup
	end := time.Now().Add(d)
	for i, c := range clients {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(i)))
			for time.Now().Before(end) && errs[i] == nil {
				n := uint64(l.pipeline * l.items)
				from := next.Add(n) - n
				if !l.reads && from+n > l.keys {
					return
				}
				errs[i] = l.turn(c, from, rng)
				done.Add(n)
			}
		})
	}
	wg.Wait()
	return done.Load(), errors.Join(errs...)
}

// turn sends a pipeline of commands and reads its replies.
func (l *load) turn(c *client, from uint64, rng *rand.Rand) error {
	for p := range l.pipeline {
		filter := l.filter
		if l.filters > 1 {
			filter += strconv.Itoa((int(from) + p) % l.filters)
		}
		c.out = appendHead(c.out, l.command, filter, l.items)
		for i := range l.items {
			n := from + uint64(p*l.items+i)
			if l.reads {
				n = rng.Uint64N(l.keys)
			}
			c.out = appendNumber(c.out, n)
		}
	}
	if err := c.send(); err != nil {
		return err
	}
	for range l.pipeline {
		if _, err := c.receive(); l.refused != nil && isDown(err) {
			l.refused.Add(1)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// isDown reports whether a node has answered that others do not.
func isDown(err error) bool { return err != nil && strings.Contains(err.Error(), "CLUSTERDOWN ") }
