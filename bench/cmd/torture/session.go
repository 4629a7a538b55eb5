//go:build linux

package main

// Rounds: load, a fault, and a check.

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// session is a row of rounds.
type session struct {
	*cluster
	rng     *rand.Rand
	ledger  *ledger
	writers []*writer
	readers []*reader
	kinds   map[string]*tally
	began   time.Time
}

// newSession makes the clients. For each node of three there is a writer that stays with it and
// one that moves on, a reader that stays and, of readers that move on, one of what
// nodes have and one of all that was acknowledged. As many share a larger cluster.
func newSession(ctx context.Context, c *cluster, seed uint64) (*session, error) {
	s := &session{cluster: c, rng: rand.New(rand.NewPCG(seed, 1)), ledger: &ledger{}, kinds: map[string]*tally{}, began: time.Now()}
	source := uint64(2)
	rng := func() *rand.Rand { source++; return rand.New(rand.NewPCG(seed, source)) }
	for i := range 2 * logNodes {
		s.writers = append(s.writers, &writer{id: i, nodes: s.from(i % s.size), stays: i >= logNodes, rng: rng(), ledger: s.ledger, next: 1})
	}
	for i := range logNodes {
		nodes := s.from(i * s.size / logNodes)
		s.readers = append(s.readers,
			&reader{nodes: nodes[:1], stays: true, spread: c.copies > 0, writers: len(s.writers), rng: rng(), ledger: s.ledger},
			&reader{nodes: nodes, writers: len(s.writers), rng: rng(), ledger: s.ledger},
			&reader{nodes: nodes, owner: true, writers: len(s.writers), rng: rng(), ledger: s.ledger})
	}
	conn, err := connect(ctx, c.nodes[0])
	if err != nil {
		return nil, err
	}
	defer conn.close()
	for _, w := range s.writers {
		replies, err := conn.talk(patience, w.prepare())
		if err == nil && slices.ContainsFunc(replies, func(r string) bool { return r != "+OK" }) {
			err = fmt.Errorf("%q: %q", w.prepare(), replies)
		}
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}

// from returns the nodes, one of them first.
func (s *session) from(i int) []*node {
	m := s.members()
	return append(slices.Clone(m[i:]), m[:i]...)
}

// rounds makes faults in turn until there were enough, or something is wrong.
func (s *session) rounds(ctx context.Context, o *options, chosen []fault) error {
	for round := 1; ; round++ {
		f := chosen[(round-1)%len(chosen)]
		began := time.Now()
		t, notes, findings, err := s.round(ctx, f)
		if ctx.Err() != nil {
			return errInterrupted
		}
		if s.kinds[f.name] == nil {
			s.kinds[f.name] = &tally{}
		}
		s.kinds[f.name].add(t)
		if len(notes) > 0 {
			notes = "; " + notes
		}
		say("round %d, %s (%s%s): %s", round, f.name, seconds(time.Since(began)), notes, t.line())
		for _, text := range findings {
			say("WRONG: %s", text)
		}
		if err != nil {
			return fmt.Errorf("round %d, %s, seed %d: %w", round, f.name, o.seed, err)
		}
		if t.bad() {
			return fmt.Errorf("round %d, %s, seed %d: see above", round, f.name, o.seed)
		}
		if o.during > 0 && time.Since(s.began) >= o.during || o.during == 0 && round == o.rounds {
			return s.last(ctx)
		}
	}
}

// last checks everything that was ever written.
func (s *session) last(ctx context.Context) error {
	f, err := check(ctx, s.cluster, s.writers, true)
	if err != nil {
		return err
	}
	known, doubtful := s.ledger.size()
	say("checked all: %d items added, %d unknown; %d lost, %d twice", known, doubtful, f.lost, f.twice)
	if len(f.list) > 0 {
		return errors.New(strings.Join(f.list, "\n"))
	}
	return nil
}

// round makes one fault under load, and checks when all nodes serve and nobody writes.
func (s *session) round(ctx context.Context, f fault) (t tally, notes string, found []string, err error) {
	loading, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	for _, w := range s.writers {
		w.counts = counts{}
		w.begin()
		wg.Go(func() { s.guard(func() { w.run(loading) }) })
	}
	for _, r := range s.readers {
		r.reads, r.failed, r.slowest = 0, 0, 0
		r.begin()
		wg.Go(func() { s.guard(func() { r.run(loading) }) })
	}
	err = s.trouble(ctx, f, &notes)
	if err == nil {
		err = s.writes(ctx, false)
	}
	for _, w := range s.writers {
		w.end() // some take their time to stop
	}
	for _, r := range s.readers {
		r.end()
	}
	stop()
	wg.Wait()
	t.rounds = 1
	if err != nil {
		return t, notes, nil, err
	}
	found = s.count(&t, f)
	finding, err := check(ctx, s.cluster, s.writers, false)
	t.lost, t.twice = finding.lost, finding.twice
	found = append(found, finding.list...)
	t.wrong = len(found)
	if err == nil && !t.bad() {
		err = s.dismiss(ctx)
	}
	return t, notes, found, err
}

// dismiss removes the spare node if it has joined.
func (s *session) dismiss(ctx context.Context) error {
	n := s.spare()
	if !n.running() {
		return nil
	}
	number, err := n.number(ctx)
	if err == nil {
		err = n.stop()
	}
	if err == nil {
		err = s.members()[0].command(ctx, "cluster", "leave", strconv.Itoa(number), "--yes")
	}
	return err
}

// trouble lets the load run a while, takes snapshots on some nodes, and makes the fault.
func (s *session) trouble(ctx context.Context, f fault, notes *string) (err error) {
	defer s.mend()
	pause(ctx, time.Duration(500+s.rng.IntN(1000))*time.Millisecond)
	for _, n := range s.members() {
		if s.rng.IntN(3) > 0 { // some nodes start from a snapshot, and the log is purged
			if err := snapshot(ctx, n); err != nil {
				return err
			}
		}
	}
	pause(ctx, time.Duration(s.rng.IntN(1500))*time.Millisecond)
	var said []string
	err = f.make(ctx, &trial{
		cluster: s.cluster, rng: s.rng, writes: func(ctx context.Context) error { return s.writes(ctx, true) },
		note: func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) },
	})
	*notes = strings.Join(said, ", ")
	return err
}

// snapshot begins a snapshot on a node.
func snapshot(ctx context.Context, n *node) error {
	c, err := connect(ctx, n)
	if err != nil {
		return err
	}
	defer c.close()
	reply, err := c.ask(patience, "BGSAVE")
	if err == nil && !strings.HasPrefix(reply, "+") && !strings.Contains(reply, "already in progress") {
		err = fmt.Errorf("BGSAVE at %s: %s", n.name, reply)
	}
	return err
}

// writes returns when each client has had another acknowledgement; with moving only
// those that move on.
func (s *session) writes(ctx context.Context, moving bool) error {
	began := time.Now()
	for _, w := range s.writers {
		for !w.since(began) && !(moving && w.stays) {
			if time.Since(began) > settleWithin {
				return fmt.Errorf("client %d has had no acknowledgement for %v", w.id, settleWithin)
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			pause(ctx, 10*time.Millisecond)
		}
	}
	return nil
}

// longRead is what is said of reads at nodes that are up, which do not wait for others.
const longRead = time.Second

// count gathers what the clients have seen.
func (s *session) count(t *tally, f fault) (found []string) {
	for _, w := range s.writers {
		t.acknowledged += w.counts.acknowledged
		t.unknown += w.counts.unknown
		t.refused += w.counts.refused
		if !w.stays {
			t.writeStop = max(t.writeStop, w.end())
		}
		found = append(found, w.list...)
		w.list = nil
	}
	for _, r := range s.readers {
		found = append(found, r.list...)
		r.list = nil
		if r.owner {
			t.owned += r.reads
			continue
		}
		t.reads += r.reads
		t.failed += r.failed
		if t.readStop = max(t.readStop, r.slowest); r.slowest > longRead {
			say("a read took %s, %s", seconds(r.slowest), r.where)
		}
		if r.refusal != "" {
			say("a read failed, %s", r.refusal)
			r.refusal = ""
		}
		if !r.stays {
			t.readStop = max(t.readStop, r.end())
		}
	}
	if f.name == "rolling" && t.failed > 0 {
		found = append(found, fmt.Sprintf("%d reads failed", t.failed))
	}
	return found
}

// guard runs a client. If it panics, disks that hang are let go first: the kernel could
// not end their processes else.
func (s *session) guard(f func()) {
	defer func() {
		if p := recover(); p != nil {
			s.mend()
			panic(p)
		}
	}()
	f()
}
