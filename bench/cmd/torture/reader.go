//go:build linux

package main

// Clients that read while faults happen.

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// reader is a client that reads. One that stays reads at one node, from what that
// node has: it must be answered whatever happens to other nodes. One that moves goes
// to another node when it loses its connection: a read fails if no node answers. One
// with owner asks for reads that see everything that was acknowledged anywhere.
type reader struct {
	nodes   []*node
	stays   bool
	owner   bool
	spread  bool // other nodes may have to answer: then a refusal counts as a read that failed
	writers int
	rng     *rand.Rand
	ledger  *ledger
	trouble
	watch

	reads, failed int
	slowest       time.Duration // answer of one that stays
	where         string        // it was
	refusal       string        // the last read that others have not answered
}

// readPatience is how long a read may take before its client gives up; one that moves
// on gives up sooner.
const readPatience = 20 * time.Second

func (r *reader) run(ctx context.Context) {
	var first []string
	if r.owner {
		first = []string{"FILTER.READ OWNER"}
	}
	tried := 0
	for at := 0; ctx.Err() == nil; at++ {
		n := r.nodes[at%len(r.nodes)]
		token, live := n.live()
		if !live && r.stays {
			r.skip()
			pause(ctx, 20*time.Millisecond)
			continue
		}
		c, err := connect(ctx, n, first...)
		if err != nil {
			tried++
			r.missed(ctx, n, token, tried, err)
			pause(ctx, 10*time.Millisecond)
			continue
		}
		for ctx.Err() == nil {
			token, live = n.live()
			began := time.Now()
			if err = r.read(c); err != nil {
				tried++
				r.missed(ctx, n, token, tried, err)
				pause(ctx, 10*time.Millisecond)
				break
			}
			tried = 0
			if took := time.Since(began); r.stays && live && n.same(token) && took > r.slowest {
				r.slowest, r.where = took, fmt.Sprintf("%s at %s", n.name, began.Format(time.TimeOnly))
			}
			pause(ctx, time.Duration(10+r.rng.IntN(30))*time.Millisecond)
		}
		c.close()
	}
}

// missed notes a read that was not answered.
func (r *reader) missed(ctx context.Context, n *node, token int64, tried int, err error) {
	switch {
	case ctx.Err() != nil:
	case r.stays:
		if _, live := n.live(); live && n.same(token) {
			r.failed++
			if r.spread && judge(err.Error()) == refused {
				r.refusal = fmt.Sprintf("%s at %s: %v", n.name, time.Now().Format(time.TimeOnly), err)
				return
			}
			r.wrong("a read at %s failed at %s, though it was up: %v", n.name, time.Now().Format(time.TimeOnly), err)
		}
	case !r.owner && tried%len(r.nodes) == 0:
		r.failed++ // no node has answered
	}
}

// read asks for a few things. The error is why the connection is of no use.
func (r *reader) read(c *conn) error {
	if r.owner {
		return r.readAll(c)
	}
	id := r.rng.IntN(r.writers)
	pair := fmt.Sprintf("MGET left%d right%d", id, id)
	within := readPatience
	if !r.stays {
		within = movePatience
	}
	replies, err := c.talk(within, []string{pair, fmt.Sprintf("BF.EXISTS bf%d item%d", id, r.rng.IntN(1000)), "CF.COUNT cf" + strconv.Itoa(id) + " item1"})
	if err != nil {
		return err
	}
	for _, reply := range replies {
		if judge(reply) != acknowledged {
			return fmt.Errorf("%s", reply)
		}
	}
	r.reads += len(replies)
	r.good()
	if two := strings.Fields(strings.TrimPrefix(replies[0], "*")); len(two) != 2 || two[0] != two[1] {
		r.wrong("%s at %s: %s: a transaction changes both", pair, c.node.name, replies[0])
	}
	return nil
}

// readAll looks for items that must be there.
func (r *reader) readAll(c *conn) error {
	questions := r.ledger.questions(r.rng, 4)
	if len(questions) == 0 {
		return nil
	}
	commands := make([]string, len(questions))
	for i, q := range questions {
		commands[i] = fmt.Sprintf("BF.EXISTS bf%d item%d", q.client, q.n)
	}
	began := time.Now()
	replies, err := c.talk(patience, commands)
	for i, reply := range replies {
		switch how := judge(reply); how {
		case refused, unknown:
			return fmt.Errorf("%s", reply)
		case strange:
			r.wrong("%s at %s, which is to see everything: %s", commands[i], c.node.name, reply)
		case acknowledged:
			r.reads++
			r.good()
			if !r.ledger.answer(questions[i], reply == ":1") {
				r.wrong("%s at %s, asked at %s to see everything: %s, though it was acknowledged before", commands[i], c.node.name, began.Format("15:04:05.000"), reply)
			}
		}
	}
	return err
}

// trouble is what a client has seen and must not.
type trouble struct{ list []string }

const mostTrouble = 20

func (t *trouble) wrong(format string, args ...any) {
	if len(t.list) < mostTrouble {
		t.list = append(t.list, fmt.Sprintf(format, args...))
	}
}
