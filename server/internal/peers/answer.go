package peers

// The answering end of a connection.

import (
	"context"
	"sync"
	"time"
)

// shortBytes is how long a question is that is answered at once. Others wait meanwhile: for some 100 µs, if it is about as
// many items as fit. A new goroutine would have to grow its stack first.
const shortBytes = 32 << 10

// mostPatience is how long a question that has no deadline may be worked at.
const mostPatience = time.Hour

// Asked is a question that this node is to answer.
//
// It must not be used when it was answered.
type Asked struct {
	// Body is the question, From the node that asks, 0 if it has no number yet.
	Body []byte
	From uint32

	line *answerer
	head header
	came time.Time
	read *reader // who answers goes on to read it then, nil if another one does
	// What follows is guarded by line.mu.
	cancelled bool
	stop      context.CancelFunc
	buffer    []byte // of the body
	answer    []byte // of the answer
}

// Aside lets other questions be answered meanwhile. Whoever waits for something before he answers, or
// takes long, calls it first: a question is answered by the goroutine that has read it.
func (q *Asked) Aside() {
	if a, r := q.line, q.read; r != nil {
		q.read = nil
		a.readers.Go(func() { a.readOn(r) })
	}
}

// Context goes aside, and returns what ends when nobody waits for the answer any longer: the asker has given up,
// or one of the nodes is gone. Answers that wait for nothing do not need it.
func (q *Asked) Context() context.Context {
	q.Aside()
	wait := mostPatience
	if q.head.patience > 0 {
		wait = time.Duration(q.head.patience) * time.Millisecond
	}
	ctx, stop := context.WithDeadline(q.line.context, q.came.Add(wait))
	q.line.mu.Lock()
	defer q.line.mu.Unlock()
	if before := q.stop; before != nil {
		own := stop
		stop = func() { before(); own() }
	}
	q.stop = stop
	if q.cancelled {
		stop()
	}
	return ctx
}

// cancel ends the context of a question, if there is one. The caller holds line.mu.
func (q *Asked) cancel() {
	if q == nil {
		return
	}
	q.cancelled = true
	if q.stop != nil {
		q.stop()
	}
}

// questions are used again.
var questions = sync.Pool{New: func() any { return new(Asked) }}

// answerer is the end of a line that answers.
type answerer struct {
	line
	from    uint32
	answer  func(q *Asked, to []byte) []byte
	context context.Context
	running sync.WaitGroup // questions that are being answered
	readers sync.WaitGroup // and goroutines that read
	// What follows is guarded by mu.
	asked   [slots]*Asked // that are being answered, by slot
	used    [2]int        // slots
	owed    [2]int        // slots of answers that wait to be written
	closing bool          // nothing more is answered
}

func newAnswerer(from uint32, answer func(q *Asked, to []byte) []byte) *answerer {
	a := &answerer{from: from, answer: answer}
	var stop context.CancelFunc
	a.context, stop = context.WithCancel(context.Background())
	a.ended = stop
	// The asker may use these slots again as soon as it has the answers.
	a.taken = func() {
		for class := range a.used {
			a.used[class] -= a.owed[class]
			a.owed[class] = 0
		}
	}
	return a
}

// readOn takes questions until the line ends, or somebody else does.
func (a *answerer) readOn(r *reader) {
	for {
		aside, err := a.read(r)
		if err != nil {
			a.end(err)
		}
		if aside || err != nil {
			return
		}
	}
}

// read takes a frame. It reports whether somebody else goes on.
func (a *answerer) read(r *reader) (aside bool, err error) {
	h, err := r.header()
	if err != nil {
		return false, err
	}
	a.heard.Store(true)
	a.count.received.Add(int64(headerBytes + h.length))
	switch h.kind {
	case kindQuestion:
		return a.question(r, h)
	case kindVoid:
		_, err = r.Discard(h.length)
	case kindCancel:
		a.cancel(h)
	case kindPing:
		err = a.pong(h)
	default:
		err = errFrame
	}
	return false, err
}

// pong answers a ping. Those who do not read the answers cannot have more than their slots wait.
func (a *answerer) pong(h header) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.out) > 2*slots*slotBytes {
		return errSilent
	}
	a.add(header{kind: kindPong, number: h.number}, nil)
	return nil
}

// question begins to answer a question. What it takes is checked before anything is allocated. It
// reports whether somebody else goes on to read.
func (a *answerer) question(r *reader, h header) (aside bool, err error) {
	slot := h.slot()
	n, class := slotsOf(h.length, h.room), slot/classSlots
	if slot >= slots {
		return false, errFrame
	}
	a.mu.Lock()
	wrong := a.asked[slot] != nil || a.used[class]+n > classSlots
	a.mu.Unlock()
	if wrong {
		return false, errFrame
	}
	q := questions.Get().(*Asked)
	q.line, q.head, q.From, q.came = a, h, a.from, time.Now()
	err = r.body(h.length, func(b []byte, fresh bool) {
		if fresh {
			q.Body = b
			return
		}
		q.buffer = append(q.buffer[:0], b...)
		q.Body = q.buffer
	})
	if err != nil {
		return false, err
	}
	a.mu.Lock()
	a.asked[slot], a.used[class] = q, a.used[class]+n
	if a.closing {
		a.reply(q, kindRefused, []byte(errClosed.Error()))
		a.send(false)
		a.mu.Unlock()
		return false, nil
	}
	a.running.Add(1)
	a.mu.Unlock()
	// A short question that no other one stands behind is answered at once. Those who wait for others
	// get a goroutine in any case.
	if class == 0 && h.length <= shortBytes && r.Buffered() == 0 {
		q.read = r
		return a.work(q), nil
	}
	go a.work(q)
	return false, nil
}

// work answers a question. It reports whether that went aside.
func (a *answerer) work(q *Asked) (aside bool) {
	answer := a.answer(q, q.answer[:0])
	kind := byte(kindAnswer)
	if len(answer) > q.head.room {
		kind, answer = kindLong, nil
	} else if cap(answer) <= slotBytes {
		q.answer = answer
	}
	a.count.answered.Add(1)
	aside = q.read == nil
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reply(q, kind, answer)
	a.running.Done() // who closes the line waits for no write
	a.send(!aside)
	return aside
}

// reply puts the answer of a question among what waits: it ends with that. The caller holds mu.
func (a *answerer) reply(q *Asked, kind byte, body []byte) {
	h, slot := &q.head, q.head.slot()
	a.asked[slot] = nil
	a.owed[slot/classSlots] += slotsOf(h.length, h.room)
	if a.err == nil {
		a.put(header{kind: kind, number: h.number}, body)
	}
	if q.stop != nil {
		q.stop()
	}
	*q = Asked{buffer: q.buffer, answer: q.answer}
	questions.Put(q)
}

// cancel has whoever answers a question know that nobody waits for it.
func (a *answerer) cancel(h header) {
	if h.slot() >= slots {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if q := a.asked[h.slot()]; q != nil && q.head.number == h.number {
		q.cancel()
	}
}

// close answers what is being answered, and ends the line.
func (a *answerer) close() {
	a.mu.Lock()
	a.closing = true
	for _, q := range a.asked {
		q.cancel()
	}
	a.mu.Unlock()
	a.running.Wait()
	a.drain()
}
