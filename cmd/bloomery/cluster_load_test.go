//go:build unix

// The load of the tests of a cluster, and what it remembers of the answers.

package main

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"time"
)

// load is a client of a cluster that adds to a Bloom filter, and inserts into and
// deletes from a cuckoo filter, all of its own. It knows of each write whether it
// was acknowledged, was refused, or may have been kept or not.
type load struct {
	id    int
	addrs []string // of nodes, the preferred one first
	rng   *rand.Rand

	added             []int // acknowledged
	next              int
	inserted, deleted bounds
	there             []int // inserted, acknowledged, and not deleted
	wrong             []string

	mu     sync.Mutex
	last   time.Time     // of an acknowledgement
	stop   time.Duration // the longest time without one
	counts struct{ acknowledged, refused, unknown int }
}

// bounds are how many writes have taken effect: those that were acknowledged, and
// perhaps those that nobody knows of.
type bounds struct{ sure, perhaps int }

func (b bounds) holds(n int) bool { return n >= b.sure && n <= b.sure+b.perhaps }

func (l *load) bloom() string  { return fmt.Sprintf("bf%d", l.id) }
func (l *load) cuckoo() string { return fmt.Sprintf("cf%d", l.id) }

// run writes until ctx ends, to the first node that answers.
func (l *load) run(ctx context.Context) {
	l.mu.Lock()
	l.last = time.Now()
	l.mu.Unlock()
	for at := 0; ctx.Err() == nil; at++ {
		nc, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", l.addrs[at%len(l.addrs)])
		if err != nil {
			time.Sleep(20 * time.Millisecond)
			continue
		}
		r := bufio.NewReader(nc)
		for ctx.Err() == nil && l.batch(nc, r) {
		}
		_ = nc.Close()
	}
}

// step is one write of a batch, and what its reply means.
type step struct {
	command string
	settle  func(reply string, how outcome)
}

type outcome int

const (
	acknowledged outcome = iota
	refused
	unknown
)

// batch sends some writes at once. It reports whether the connection can go on.
func (l *load) batch(nc net.Conn, r *bufio.Reader) bool {
	steps := l.steps()
	commands := make([]string, len(steps))
	for i, s := range steps {
		commands[i] = s.command
	}
	// Longer than a write may take: its outcome is then unknown.
	_ = nc.SetDeadline(time.Now().Add(30 * time.Second))
	replies, err := talk(nc, r, commands...)
	down := false
	for i, s := range steps {
		if i >= len(replies) {
			l.note(unknown)
			s.settle("", unknown)
			continue
		}
		how := acknowledged
		switch reply := replies[i]; {
		case strings.HasPrefix(reply, "-CLUSTERDOWN"), strings.HasPrefix(reply, "-LOADING"):
			how, down = refused, true
		case strings.HasPrefix(reply, "-UNKNOWN"):
			how, down = unknown, true
		case strings.HasPrefix(reply, "-"):
			how = unknown
			l.wrong = append(l.wrong, s.command+": "+reply)
		}
		l.note(how)
		s.settle(replies[i], how)
	}
	if down {
		time.Sleep(50 * time.Millisecond)
	}
	return err == nil
}

func (l *load) note(how outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch how {
	case acknowledged:
		l.counts.acknowledged++
		now := time.Now()
		l.stop = max(l.stop, now.Sub(l.last))
		l.last = now
	case refused:
		l.counts.refused++
	case unknown:
		l.counts.unknown++
	}
}

// steps makes the writes of a batch.
func (l *load) steps() (steps []step) {
	for range 1 + l.rng.IntN(8) {
		n := l.next
		l.next++
		steps = append(steps, step{fmt.Sprintf("BF.ADD %s item%d", l.bloom(), n), func(_ string, how outcome) {
			if how == acknowledged {
				l.added = append(l.added, n)
			}
		}}, step{fmt.Sprintf("CF.ADD %s item%d", l.cuckoo(), n), func(_ string, how outcome) {
			switch how {
			case acknowledged:
				l.inserted.sure++
				l.there = append(l.there, n)
			case unknown:
				l.inserted.perhaps++
			}
		}})
	}
	for range min(l.rng.IntN(6), len(l.there)) {
		i := l.rng.IntN(len(l.there))
		n := l.there[i]
		l.there[i] = l.there[len(l.there)-1]
		l.there = l.there[:len(l.there)-1]
		steps = append(steps, step{fmt.Sprintf("CF.DEL %s item%d", l.cuckoo(), n), func(reply string, how outcome) {
			switch {
			case how == acknowledged && reply == ":1":
				l.deleted.sure++
			case how == acknowledged:
				l.wrong = append(l.wrong, fmt.Sprintf("CF.DEL of item%d of %s, which was inserted and not deleted: %s", n, l.cuckoo(), reply))
			case how == refused:
				l.there = append(l.there, n)
			case how == unknown:
				l.deleted.perhaps++
			}
		}})
	}
	return steps
}
