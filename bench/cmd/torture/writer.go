//go:build linux

package main

// Clients that write, and what they remember of the answers.

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// writer is a client with keys of its own: a Bloom filter, a cuckoo filter that it also
// deletes from, a count-min sketch, a filter that every node holds, one of many parts, a number, and two
// numbers that only a transaction changes. It remembers of each write whether it was
// acknowledged, was refused, or may have been kept or not.
type writer struct {
	id     int
	nodes  []*node // the preferred one first
	stays  bool    // it does not go to another node while its own one answers
	rng    *rand.Rand
	ledger *ledger
	trouble
	watch

	next                      int
	added, wide, many         []int // acknowledged
	inserted, deleted         bounds
	there                     []int // inserted, acknowledged, and not deleted
	counted, numbered, paired bounds
	number                    int64 // the last reply of INCR
	lasting                   []int // strings that expire tomorrow
	counts                    counts
}

// bounds are how many writes have taken effect: those that were acknowledged, and
// perhaps those that nobody knows of.
type bounds struct{ sure, perhaps int }

func (b *bounds) note(how outcome) {
	switch how {
	case acknowledged:
		b.sure++
	case unknown, strange:
		b.perhaps++
	}
}

func (b bounds) holds(n int) bool { return n >= b.sure && n <= b.sure+b.perhaps }

// counts are the writes of a client in a round, by what became of them.
type counts struct{ acknowledged, refused, unknown int }

func (c *counts) note(how outcome) {
	switch how {
	case acknowledged:
		c.acknowledged++
	case refused:
		c.refused++
	default:
		c.unknown++
	}
}

// key returns the name of one of the writer's keys.
func (w *writer) key(kind string) string { return kind + strconv.Itoa(w.id) }

// keys are the writer's keys whose contents are compared between nodes.
func (w *writer) keys() (list []string) {
	for _, kind := range []string{"bf", "cf", "cms", "wide", "number", "left", "right"} {
		list = append(list, w.key(kind))
	}
	return list
}

// prepare are the commands that make what does not come by itself.
func (w *writer) prepare() []string {
	return []string{
		"CF.RESERVE " + w.key("cf") + " 100000", "CMS.INITBYDIM " + w.key("cms") + " 2000 4",
		"FILTER.CREATE " + w.key("wide") + " bloom CAPACITY 100000 REPLICAS ALL", "FILTER.CREATE " + w.key("many") + " bloom CAPACITY 100000 PARTS 64",
	}
}

// patience is longer than a write may take. What is not answered by then is unknown.
// A client that moves on to another node does so after movePatience.
const (
	patience     = 30 * time.Second
	movePatience = 4 * time.Second
)

// run writes until ctx ends, to the first node that answers.
func (w *writer) run(ctx context.Context) {
	for at := 0; ctx.Err() == nil; at++ {
		c, err := connect(ctx, w.nodes[at%len(w.nodes)])
		if err != nil {
			pause(ctx, 20*time.Millisecond)
			continue
		}
		for ctx.Err() == nil && c.open() && w.batch(c) {
			pause(ctx, time.Duration(30+w.rng.IntN(90))*time.Millisecond)
		}
		c.close()
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// step is one write or read of a batch, and what its replies mean.
type step struct {
	commands []string
	read     bool
	settle   func(reply string, how outcome)
}

// batch sends some writes at once. It reports whether the client stays with the
// connection.
func (w *writer) batch(c *conn) bool {
	steps := w.steps()
	var commands []string
	for _, s := range steps {
		commands = append(commands, s.commands...)
	}
	within := patience
	if !w.stays {
		within = movePatience
	}
	replies, err := c.talk(within, commands)
	down := false
	for _, s := range steps {
		n := len(s.commands)
		if len(replies) < n {
			replies = nil
			if !s.read {
				w.counts.note(unknown)
			}
			s.settle("", unknown)
			continue
		}
		how := w.outcome(s, replies[:n])
		down = down || how == refused || how == unknown
		if !s.read {
			w.counts.note(how)
			if how == acknowledged {
				w.good()
			}
		}
		s.settle(replies[n-1], how)
		replies = replies[n:]
	}
	if down && w.stays {
		time.Sleep(50 * time.Millisecond)
	}
	return err == nil && (w.stays || !down)
}

// outcome judges the replies to a step: the last one counts. A transaction that was
// discarded because a command of it was refused has changed nothing.
func (w *writer) outcome(s step, replies []string) outcome {
	last := replies[len(replies)-1]
	how := judge(last)
	for _, early := range replies[:len(replies)-1] {
		switch was := judge(early); was {
		case refused:
			if strings.HasPrefix(last, "-EXECABORT ") {
				how = refused
			}
		case strange, unknown:
			w.wrong("%s: %s, then %s", strings.Join(s.commands, ", "), early, last)
		}
	}
	if strings.HasPrefix(last, "-TRYAGAIN ") {
		return refused
	}
	if how == strange {
		w.wrong("%s at %s: %s", strings.Join(s.commands, ", "), time.Now().Format(time.TimeOnly), last)
	}
	return how
}

// steps makes the writes of a batch, and reads of what they write.
func (w *writer) steps() (steps []step) {
	for range 1 + w.rng.IntN(8) {
		steps = append(steps, w.add()...)
	}
	for range min(w.rng.IntN(6), len(w.there)) {
		steps = append(steps, w.remove())
	}
	if w.rng.IntN(2) == 0 {
		steps = append(steps, w.increment())
	}
	if w.rng.IntN(4) == 0 {
		steps = append(steps, w.transaction())
	}
	if w.rng.IntN(20) == 0 {
		steps = append(steps, w.lastingString())
	}
	return steps
}

// add adds an item everywhere, and looks for it in the same breath: a connection sees
// its own writes.
func (w *writer) add() []step {
	n := w.next
	w.next++
	name := "item" + strconv.Itoa(n)
	var kept bool
	return []step{
		{commands: []string{"BF.ADD " + w.key("bf") + " " + name}, settle: func(_ string, how outcome) {
			switch kept = how == acknowledged; {
			case kept:
				w.added = append(w.added, n)
				w.ledger.acknowledge(item{w.id, n})
			case how != refused:
				w.ledger.doubt(item{w.id, n})
			}
		}},
		{commands: []string{"BF.EXISTS " + w.key("bf") + " " + name}, read: true, settle: func(reply string, how outcome) {
			if kept && how == acknowledged && reply != ":1" {
				w.wrong("BF.EXISTS %s %s behind its addition on the same connection: %s", w.key("bf"), name, reply)
			}
		}},
		{commands: []string{"CF.ADD " + w.key("cf") + " " + name}, settle: func(_ string, how outcome) {
			w.inserted.note(how)
			if how == acknowledged {
				w.there = append(w.there, n)
			}
		}},
		{commands: []string{"CMS.INCRBY " + w.key("cms") + " " + name + " 1"}, settle: func(_ string, how outcome) { w.counted.note(how) }},
		{commands: []string{"FILTER.ADD " + w.key("wide") + " " + name}, settle: func(_ string, how outcome) {
			if how == acknowledged {
				w.wide = append(w.wide, n)
			}
		}},
		{commands: []string{"FILTER.ADD " + w.key("many") + " " + name}, settle: func(_ string, how outcome) {
			if how == acknowledged {
				w.many = append(w.many, n)
			}
		}},
	}
}

// remove deletes an item that is in the cuckoo filter.
func (w *writer) remove() step {
	i := w.rng.IntN(len(w.there))
	n := w.there[i]
	w.there[i] = w.there[len(w.there)-1]
	w.there = w.there[:len(w.there)-1]
	return step{commands: []string{fmt.Sprintf("CF.DEL %s item%d", w.key("cf"), n)}, settle: func(reply string, how outcome) {
		w.deleted.note(how)
		switch {
		case how == acknowledged && reply != ":1":
			w.wrong("CF.DEL %s item%d, which was inserted and not deleted: %s", w.key("cf"), n, reply)
		case how == refused:
			w.there = append(w.there, n)
		}
	}}
}

// increment counts; every reply has to be larger than the one before, by one and
// what nobody knows of.
func (w *writer) increment() step {
	return step{commands: []string{"INCR " + w.key("number")}, settle: func(reply string, how outcome) {
		w.numbered.note(how)
		if how != acknowledged {
			return
		}
		n, err := strconv.ParseInt(strings.TrimPrefix(reply, ":"), 10, 64)
		if err != nil || n <= w.number || !w.numbered.holds(int(n)) {
			w.wrong("INCR %s: %s behind %d, with %d acknowledged and %d unknown", w.key("number"), reply, w.number, w.numbered.sure, w.numbered.perhaps)
		}
		w.number = n
	}}
}

// transaction changes two numbers at once.
func (w *writer) transaction() step {
	return step{
		commands: []string{"MULTI", "INCR " + w.key("left"), "INCR " + w.key("right"), "EXEC"},
		settle: func(reply string, how outcome) {
			w.paired.note(how)
			if how != acknowledged {
				return
			}
			var left, right int
			if _, err := fmt.Sscanf(reply, "*:%d :%d", &left, &right); err != nil || left != right || !w.paired.holds(left) {
				w.wrong("EXEC of two INCR: %s, with %d acknowledged and %d unknown", reply, w.paired.sure, w.paired.perhaps)
			}
		},
	}
}

// lastingString sets a string that expires tomorrow: no clock that is wrong for a
// moment may remove it.
func (w *writer) lastingString() step {
	n := w.next
	w.next++
	return step{commands: []string{fmt.Sprintf("SET lasting%d-%d x EX 86400", w.id, n)}, settle: func(_ string, how outcome) {
		if how == acknowledged {
			w.lasting = append(w.lasting, n)
		}
	}}
}
