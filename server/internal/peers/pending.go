package peers

// Questions that are begun now and awaited later.

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"
)

// ErrSlow means that there is no answer yet.
var ErrSlow = errors.New("peers: the answer takes long")

var errBusy = errors.New("too many questions are on their way")

// Pending is a question on its way. Whoever has it calls AwaitAll in the end, unless Await has
// returned something else than ErrSlow.
type Pending struct {
	a      *asker
	slot   int16
	number uint32
}

// begin asks a question. See Node.Begin.
func (a *asker) begin(q Question, to []byte) (Pending, error) {
	slot, err := a.take(noTime, q)
	if err != nil {
		return Pending{}, unsent(a.node, errBusy)
	}
	return a.put(slot, q, uint32(max(q.Patience.Milliseconds(), 1)), since(q.Soon), to)
}

// noTime is the context of whoever does not wait.
var noTime = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// Await returns the answer, or ErrSlow when the time that the question says is over: somebody may wait on.
// Whoever was told so once is told so again at once, if there is no answer.
func (p Pending) Await() ([]byte, error) {
	a, c := p.a, &p.a.calls[p.slot]
	a.mu.Lock()
	defer a.mu.Unlock()
	for {
		switch b, over, err := p.look(); {
		case over:
			a.goOn()
			return b, err
		case a.reads:
			a.readers = append(a.readers, p.slot)
			a.mu.Unlock()
			<-c.done
			a.mu.Lock()
			a.readers = slices.DeleteFunc(a.readers, func(slot int16) bool { return slot == p.slot })
		default:
			a.readFor(p.slot)
		}
	}
}

// look takes what whoever waits was told, if it was something. The caller holds mu.
func (p Pending) look() (b []byte, over bool, err error) {
	a, c := p.a, &p.a.calls[p.slot]
	switch {
	case c.phase == given:
		b, err = c.answer, c.err
		a.release(p.slot)
	case c.due == 0:
		err = ErrSlow
	default:
		return nil, false, nil
	}
	return b, true, err
}

// AwaitAll returns the answer, however long it takes, or the error of ctx.
func (p Pending) AwaitAll(ctx context.Context) ([]byte, error) {
	a, c := p.a, &p.a.calls[p.slot]
	a.mu.Lock()
	defer a.mu.Unlock()
	a.patient++
	a.goOn()
	defer func() { a.patient-- }()
	for {
		a.mu.Unlock()
		var left error
		select {
		case <-c.done:
		case <-ctx.Done():
			left = a.leave(p.slot, p.number, ctx.Err())
		}
		a.mu.Lock()
		if left != nil {
			return nil, left
		}
		if b, over, err := p.look(); over && !errors.Is(err, ErrSlow) {
			return b, err
		}
	}
}

// started is when times begin that are numbers.
var started = time.Now()

// since returns the moment in d from now.
func since(d time.Duration) int64 { return int64(time.Since(started) + d) }

// sweepEvery is how often it is looked whether questions take long.
const sweepEvery = 5 * time.Millisecond

// sweeper looks after questions that may take long, as long as there are some: a timer for each of them
// would cost more than the question.
type sweeper struct {
	look  func() (more bool) // looks at all of them
	asked atomic.Bool        // since the last look
	runs  atomic.Bool
}

// begin notes that there is a question.
func (s *sweeper) begin() {
	if !s.asked.Load() {
		s.asked.Store(true)
	}
	if !s.runs.Load() && s.runs.CompareAndSwap(false, true) {
		time.AfterFunc(sweepEvery, s.sweep)
	}
}

func (s *sweeper) sweep() {
	some := s.asked.Swap(false)
	if s.look() || some {
		time.AfterFunc(sweepEvery, s.sweep)
		return
	}
	s.runs.Store(false)
	if s.asked.Load() { // meanwhile
		s.begin()
	}
}

// sweep tells those who wait for long. It reports whether others wait.
func (n *Node) sweep() (more bool) {
	now := since(0)
	for _, l := range *n.links.Load() {
		if a := l.line.Load(); a != nil && a.sweep(now) {
			more = true
		}
	}
	return more
}

func (a *asker) sweep(now int64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := 0; i < len(a.calls) && a.dues > 0; i++ {
		c := &a.calls[i]
		if c.due > 0 && c.due <= now {
			c.due = 0
			a.dues--
			c.wake()
			a.interrupt(int16(i))
		}
	}
	return a.rest() || a.dues > 0
}
