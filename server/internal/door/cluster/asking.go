package cluster

// Questions that carry commands, while they are on their way.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/peers"
)

// asking is a question for one of some nodes. The first of them is asked at once.
type asking struct {
	d     *Door
	nodes []uint32
	q     *door.Question
	body  []byte
	began time.Time

	pending peers.Pending
	asked   bool // the first node: it is pending
	over    bool // it is not any more: it has answered with raw, or failed
	soon    bool // its answer is that of the question, and no other node was asked
	raw     []byte
	err     error
	places  []uint64
}

// askings are used again, with the memory of their bodies.
var askings = sync.Pool{New: func() any { return new(asking) }}

// mostKept is for how long bodies memory is used again.
const mostKept = 64 << 10

// free gives back the memory of a question that one node was asked, which has answered: nobody else knows it.
func (v *asking) free() {
	if cap(v.body) <= mostKept {
		*v = asking{body: v.body[:0], places: v.places[:0]}
		askings.Put(v)
	}
}

// Ask implements door.Router.
func (d *Door) Ask(nodes []uint32, q *door.Question) (door.Answer, error) {
	return d.Begin(nodes, q).Answer()
}

// Begin implements door.Router.
func (d *Door) Begin(nodes []uint32, q *door.Question) door.Asking {
	v := askings.Get().(*asking)
	v.d, v.nodes, v.q, v.began = d, nodes, q, time.Now()
	v.body = d.appendQuestion(slices.Grow(v.body, 64+len(q.Body)), q)
	if p := d.config.Direct; p != nil && len(nodes) > 0 {
		p, err := p.Begin(nodes[0], v.question(), nil)
		v.pending, v.asked = p, err == nil
	}
	return v
}

// question returns what a node is asked. Commands do not go through the log: that is for what is rare.
func (v *asking) question() peers.Question {
	room := min(v.q.Room+placeBytes, peers.MaxBody)
	return peers.Question{Body: v.body, Room: room, Waits: v.q.Writes && !v.q.Last, Soon: door.HedgeAfter, Patience: v.patience()}
}

// patience returns how long it is waited for an answer.
func (v *asking) patience() time.Duration {
	if p := v.q.Patience; p > 0 {
		return min(v.d.config.Timeout, p)
	}
	return v.d.config.Timeout
}

// Soon implements door.Asking.
func (v *asking) Soon() bool {
	if v.asked && !v.over {
		v.raw, v.err = v.pending.Await()
		v.over = !errors.Is(v.err, peers.ErrSlow)
	}
	return v.over
}

// Answer implements door.Asking.
func (v *asking) Answer() (door.Answer, error) {
	d, q := v.d, v.q
	a, places, err := v.answer()
	if err != nil {
		return a, err
	}
	if !q.Writes {
		d.noteSeen(q.Lanes, places)
		if v.soon {
			v.free()
		}
		return a, nil
	}
	until := time.Now().Add(d.config.Timeout)
	for i, l := range d.all() {
		if i < len(places) && !l.reachBy(places[i], until) {
			return a, fmt.Errorf("%w: another node has done it, and this one has not heard of it within %v", door.ErrUnknown, d.config.Timeout)
		}
	}
	return a, nil
}

// answer returns the answer of a node, and how far that was.
func (v *asking) answer() (door.Answer, []uint64, error) {
	soon := v.Soon()
	if soon && v.err == nil {
		a, places, err := v.d.readAnswer(v.raw, v.places)
		if v.soon = err == nil; v.soon {
			v.places = places
			return a, places, nil
		}
	}
	ctx, stop := context.WithDeadline(context.Background(), v.began.Add(v.patience()))
	defer stop()
	if v.q.Writes || v.patience() <= door.HedgeAfter || soon || len(v.nodes) < 2 {
		return v.inTurn(ctx, 0, len(v.nodes))
	}
	return v.two(ctx, stop)
}

// two asks the first of the nodes, and the others as well if it takes long. stop ends ctx.
func (v *asking) two(ctx context.Context, stop func()) (door.Answer, []uint64, error) {
	type result struct {
		a      door.Answer
		places []uint64
		err    error
	}
	second := make(chan result, 1)
	timer := time.AfterFunc(time.Until(v.began.Add(door.HedgeAfter)), func() {
		a, places, err := v.inTurn(ctx, 1, len(v.nodes))
		if second <- (result{a, places, err}); err == nil {
			stop() // the first is not waited for any longer
		}
	})
	a, places, err := v.inTurn(ctx, 0, 1)
	switch {
	case err == nil:
		timer.Stop()
		return a, places, nil
	case timer.Stop():
		return v.inTurn(ctx, 1, len(v.nodes))
	}
	r := <-second
	return r.a, r.places, r.err
}

// inTurn asks nodes, one after the other, until one has answered, or may have done something.
func (v *asking) inTurn(ctx context.Context, from, to int) (door.Answer, []uint64, error) {
	why := errNobody
	for i := from; i < to && (i == from || ctx.Err() == nil); i++ {
		raw, err := v.at(ctx, i)
		if err == nil {
			a, places, err := v.d.readAnswer(raw, nil)
			if err == nil {
				return a, places, nil
			}
			why = fmt.Errorf("node %d: %w", v.nodes[i], err)
		} else {
			why = err
		}
		if v.q.Writes && !errors.Is(why, peers.ErrUnsent) && !errors.Is(why, errRefusedRun) {
			return door.Answer{}, nil, fmt.Errorf("%w: %w", door.ErrUnknown, why)
		}
	}
	return door.Answer{}, nil, fmt.Errorf("%w: %w", door.ErrDown, why)
}

// at returns the answer of one of the nodes.
func (v *asking) at(ctx context.Context, i int) ([]byte, error) {
	switch {
	case i == 0 && v.over:
		return v.raw, v.err
	case i == 0 && v.asked:
		v.over = true
		v.raw, v.err = v.pending.AwaitAll(ctx)
		return v.raw, v.err
	case v.d.config.Direct != nil:
		return v.d.config.Direct.Ask(ctx, v.nodes[i], v.question(), nil)
	}
	return v.d.config.Peers.Ask(ctx, v.nodes[i], v.body)
}
