//go:build linux

package main

// What is known to be in the filters.

import (
	"math/rand/v2"
	"sync"
)

// item is what a client has added to its Bloom filter.
type item struct {
	client, n int
}

// ledger is the history of membership, as far as a read that sees everything needs it.
// Filters only gain items here, so such a read is linearizable exactly if it finds
// every item that was known before it began: one whose addition was acknowledged by
// then, to any client, or that another such read had found.
//
// Safe for concurrent use.
type ledger struct {
	// mu guards what follows.
	mu       sync.Mutex
	known    []item
	doubtful []item // added, and nobody knows whether they are kept
}

func (l *ledger) acknowledge(i item) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known = append(l.known, i)
}

func (l *ledger) doubt(i item) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.doubtful = append(l.doubtful, i)
}

// question is an item to ask for.
type question struct {
	item
	known bool // when the question was made
}

// questions returns items to ask for, most of them of the last moments.
func (l *ledger) questions(rng *rand.Rand, n int) (list []question) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for range n {
		switch from := rng.IntN(8); {
		case from == 0 && len(l.doubtful) > 0:
			list = append(list, question{l.doubtful[rng.IntN(len(l.doubtful))], false})
		case from == 1 && len(l.known) > 0:
			list = append(list, question{l.known[rng.IntN(len(l.known))], true})
		case len(l.known) > 0:
			recent := min(20, len(l.known))
			list = append(list, question{l.known[len(l.known)-1-rng.IntN(recent)], true})
		}
	}
	return list
}

// answer takes what a read that sees everything has found. It reports whether that
// can be.
func (l *ledger) answer(q question, found bool) (right bool) {
	if q.known {
		return found
	}
	if found {
		l.acknowledge(q.item)
	}
	return true
}

func (l *ledger) size() (known, doubtful int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.known), len(l.doubtful)
}
