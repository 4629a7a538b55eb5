package engine

// How calls on sketches run.

import (
	"errors"
	"fmt"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/store"
)

// OnSketch is how a command on one sketch runs. Calls of one command on one key that
// follow each other are a bundle: they take its lock once, and those that write make
// one record.
//
// Arguments are checked behind the key, as RedisBloom does. A command of very many
// items is run in pieces, but checked as a whole before.
type OnSketch struct {
	Family *Family
	// Missing is what is answered if there is no such key.
	Missing string
	// Stride is how many arguments an item has: 1, or 2 for one with a number.
	Stride int
	// Early, if there is one, checks what is checked before the key, and answers
	// if it is wrong.
	Early func(*Call)
	// Check, if there is one, looks at all arguments before Encode does, and
	// answers if they are wrong. It may cut Items: those behind are answered by
	// Rest.
	Check func(*Call)
	// Rest answers for an item that Check has cut off, the first of them or not.
	Rest func(first bool) answer.Reply

	// Steps, if there is one, returns how many steps each item of a call takes at most:
	// a step is some tens of nanoseconds. It takes a lock of the part if it needs one.
	Steps func(p *store.Part, c *Call) int

	// Tries, if there is one, returns how often the items of arguments are tried in
	// every row of the sketch, at most.
	Tries func(args [][]byte) uint64

	// Slice, if there is one, returns the next piece of an item of which so much is done,
	// and how much is done with it: 0 if that is all. It is for single items that take
	// more than MaxSlice steps.
	Slice func(p *store.Part, item [][]byte, done int) (piece [][]byte, next int)

	// Look answers a read about the whole sketch, under its read lock.
	Look func(*Context, *store.Part, *Call)
	// Ask sets the answer of a read about one item, under the read lock.
	Ask func(r *answer.Reply, p *store.Part, item []byte)

	// Body returns the record of a write, which may be in m, with items as Encode has
	// appended them.
	Body func(m *store.Scratch, items []byte) store.Body
	// Encode appends an item, Stride arguments, to the value of the record, or
	// returns what is wrong with it: then nothing of the call is done. It sees
	// only what never changes in the life of a sketch.
	Encode func(b []byte, p *store.Part, item [][]byte) (value []byte, text string)
	// Element sets the answer for item i of the record; nil means that one +OK
	// answers for all of them.
	Element func(r *answer.Reply, res *store.Result, i int)
	// Relieve, if there is one, does what would take long under the lock before so many
	// items can be written, outside the gate. It reports false if there was nothing to
	// do, or nothing can be done.
	Relieve func(x *Context, entry *catalog.Entry, items int) bool
	// Grows reports that the record may take as much memory as its value.
	Grows bool
	// Fault is what is answered if the record could not be applied.
	Fault string
}

const (
	// maxItems is how many items are looked at under one lock, fewer if they take
	// more than maxSteps together.
	maxItems = 1024
	maxSteps = 1 << 14
	// MaxSlice is how many steps of a single item are done under one lock, if it can be
	// sliced.
	MaxSlice = 1 << 20
	// maxHashSteps is how many steps it may take to hash an item in all rows: about ten
	// milliseconds. A hash cannot be sliced, and the record of a TOPK holds the item.
	maxHashSteps = 1 << 18
	// stepBytes is how many bytes of an item are hashed in a step.
	stepBytes = 128
	// sketchPiece is after how many bytes the value of a record ends.
	sketchPiece = 128 << 10
	// maxPayload bounds the memory that a workspace keeps for values.
	maxPayload = 256 << 10
)

// joinsSketch reports whether next belongs to the bundle that c begins.
func joinsSketch(c, next *Call) bool {
	if len(next.Args) < 2 || len(c.Args) < 2 || c.cmd.Flags&Heavy != 0 ||
		string(next.Args[1]) != string(c.Args[1]) || string(next.Args[0]) != string(c.Args[0]) || !c.cmd.Takes(len(next.Args)) {
		return false
	}
	next.cmd = c.cmd
	return true
}

// Longest returns how many steps more than one a row of a sketch takes to hash the longest
// item of a call.
func (k *OnSketch) Longest(c *Call) int {
	longest := 0
	for i := 0; i < len(c.Items); i += k.Stride {
		longest = max(longest, len(c.Items[i]))
	}
	return longest / stepBytes
}

// count returns the number of items of a call.
func (k *OnSketch) count(c *Call) int { return k.items(len(c.Items)) }

// items returns how many items n arguments are.
func (k *OnSketch) items(n int) int {
	if k.Stride == 2 {
		return n / 2
	}
	return n
}

// runSketch runs the calls of a bundle that are not answered and not waiting.
func (e *Engine) runSketch(s *Session, calls []Call) {
	if k := calls[0].cmd.Sketch; k.Early != nil {
		for i := range calls {
			if c := &calls[i]; !c.answered && !c.waiting {
				k.Early(c)
			}
		}
	}
	for i := 0; i < len(calls); {
		if calls[i].answered || calls[i].waiting {
			i++
			continue
		}
		n := i + 1
		for n < len(calls) && !calls[n].answered && !calls[n].waiting {
			n++
		}
		e.runSketchSpan(s, calls[i:n])
	}
}

// runSketchSpan runs calls none of which is answered. It leaves some without an
// answer, which are run again.
func (e *Engine) runSketchSpan(s *Session, calls []Call) {
	c := &calls[0]
	k := c.cmd.Sketch
	if len(s.w.pending) > 0 && s.w.touched(c) {
		e.settle(s)
	}
	e.enter(s)
	entry := e.findSketch(s, c)
	if entry == nil {
		return
	}
	p := store.PartOf(entry)
	n, most := k.checked(p, calls)
	switch {
	case n == 0:
	case k.Look == nil && (k.count(c) > most || !s.alone && k.sliced(p, c)):
		e.runLong(s, p, c, most)
	case k.Body == nil:
		e.askSketch(s, p, calls[:n])
	case e.relieved(s, k, entry, maxItems):
	case !e.busy(s):
		e.writeSketch(s, entry, p, calls[:n], most)
	}
}

// sliced reports whether a single item of a call is done in pieces.
func (k *OnSketch) sliced(p *store.Part, c *Call) bool {
	return k.Slice != nil && k.Steps(p, c) > MaxSlice
}

// relieved calls Relieve. It reports true if the gate was left: what was looked up may
// have changed. In a transaction, and in a cluster, everything is done under the lock.
func (e *Engine) relieved(s *Session, k *OnSketch, entry *catalog.Entry, items int) bool {
	return k.Relieve != nil && !s.alone && e.shared == nil && !s.killed() && k.Relieve(&s.ctx, entry, items)
}

// findSketch returns the sketch of a call. If there is none it answers.
func (e *Engine) findSketch(s *Session, c *Call) *catalog.Entry {
	k := c.cmd.Sketch
	entry := e.state.Names.Lookup(c.Args[1], s.ms)
	if k.Body == nil {
		e.stats.Looked(&s.Client, entry != nil, 1)
	}
	switch {
	case entry == nil:
		c.Fail(k.Missing)
		return nil
	case entry.Kind != k.Family.Kind:
		c.Fail(answer.TextWrongType)
		return nil
	}
	return entry
}

// checked checks the arguments of calls and returns how many of them can be run
// together: those up to the first that is wrong, or up to as many items as may be
// looked at under one lock, but the first whatever it has. It returns that number, too.
func (k *OnSketch) checked(p *store.Part, calls []Call) (n, most int) {
	items, most := 0, maxItems
	for i := range calls {
		c := &calls[i]
		c.Items = c.Args[2:]
		if k.Check != nil {
			if k.Check(c); c.answered {
				return i, most
			}
		}
		if k.Steps != nil {
			steps := k.Steps(p, c)
			if steps > maxHashSteps && k.tooLong(p, c) {
				return i, most
			}
			if steps > maxSteps/maxItems {
				most = min(most, max(1, maxSteps/steps))
			}
		}
		if items += k.count(c); i > 0 && items > most {
			return i, most
		}
	}
	return len(calls), most
}

// tooLong refuses a call with an item that takes too long to hash.
func (k *OnSketch) tooLong(p *store.Part, c *Call) bool {
	rows := p.Rows()
	if rows*(1+k.Longest(c)) <= maxHashSteps {
		return false
	}
	c.Fail(fmt.Sprintf(textLongItem, rows, maxHashSteps*stepBytes>>20))
	return true
}

const textLongItem = "ERR an item is too long for this sketch: each of its %d rows hashes it, and that may be %d MiB together"

// askSketch answers calls under the read lock of p. It answers none if the sketch
// is gone.
func (e *Engine) askSketch(s *Session, p *store.Part, calls []Call) {
	k := calls[0].cmd.Sketch
	if len(calls) > 1 {
		e.stats.Looked(&s.Client, true, len(calls)-1)
	}
	p.RLock()
	defer p.RUnlock()
	if p.Gone() {
		return
	}
	for i := range calls {
		c := &calls[i]
		s.weight += 1 + len(c.Items)
		if k.Look != nil {
			k.Look(&s.ctx, p, c)
			continue
		}
		elems := s.w.takeElems(len(c.Items))
		for j, item := range c.Items {
			k.Ask(&elems[j], p, item)
		}
		c.answerList(elems)
	}
}

// writeSketch makes one record of calls, as many as its value has room for, and
// puts it in order.
func (e *Engine) writeSketch(s *Session, entry *catalog.Entry, p *store.Part, calls []Call, most int) {
	w, k := s.w, calls[0].cmd.Sketch
	w.reuse()
	mark, items, n, wrong := len(w.payload), 0, 0, 0
	for ; n < len(calls) && len(w.payload)-mark < sketchPiece; n++ {
		c := &calls[n]
		fits := w.encode(k, p, c)
		if !fits && n > 0 {
			break // too long to come behind others
		}
		if !fits {
			e.runLong(s, p, c, most)
			return
		}
		if c.first = items; c.answered {
			wrong++
		} else {
			items += k.count(c)
		}
	}
	s.weight += items + n
	if wrong == n {
		return
	}
	op, ok := e.sketchOp(w, k, entry, p, w.payload[mark:], items)
	if !ok {
		for i := range calls[:n] {
			if c := &calls[i]; !c.answered {
				c.Fail(answer.TextOOM)
			}
		}
		return
	}
	v := span{calls[:n:n], op}
	w.refs = append(w.refs[:0], &op.Op)
	e.do(s, w.refs)
	if op.Settled {
		e.answerSketch(w, v)
		return
	}
	for i := range v.calls {
		v.calls[i].waiting = !v.calls[i].answered
	}
	w.pending = append(w.pending, v)
}

// encode appends the items of a call to the payload, or answers the call if one of
// them is wrong. It reports false, and appends nothing, if they are too long for one
// record.
func (w *Workspace) encode(k *OnSketch, p *store.Part, c *Call) (fits bool) {
	before := len(w.payload)
	for i := 0; i < len(c.Items); i += k.Stride {
		if len(w.payload)-before >= sketchPiece {
			w.payload = w.payload[:before]
			return false
		}
		var text string
		if w.payload, text = k.Encode(w.payload, p, c.Items[i:i+k.Stride]); text != "" {
			w.payload = w.payload[:before]
			c.Fail(text)
			return true
		}
	}
	return true
}

// sketchOp returns an op that writes value, of so many items. It reports false if there is no memory
// for it.
func (e *Engine) sketchOp(w *Workspace, k *OnSketch, entry *catalog.Entry, p *store.Part, value []byte, items int) (*Op, bool) {
	op := w.takeOp()
	*op = Op{Op: door.Op{Part: p}}
	op.Record = store.Record{ID: entry.ID, Body: k.Body(&op.scratch, value)}
	if k.Element != nil {
		op.Result.Counts = w.takeCounts(items)
	}
	if k.Grows {
		op.Cost = uint64(len(value))
		return op, e.Budget.reserve(op.Cost)
	}
	return op, true
}

// answerSketch answers calls from the result of their record. It answers none if
// the sketch is gone.
func (e *Engine) answerSketch(w *Workspace, v span) {
	if v.op.Cost > 0 {
		e.Budget.release(v.op.Cost)
	}
	k, res := v.calls[0].cmd.Sketch, &v.op.Result
	if v.op.Err == nil && errors.Is(res.Err, store.ErrRetry) {
		return
	}
	for i := range v.calls {
		c := &v.calls[i]
		switch {
		case c.answered: // it was wrong
		case v.op.Err != nil:
			c.Answer(e.unsettled(v.op.Err))
		case res.Err != nil:
			c.Fail(k.Fault)
		case k.Element == nil:
			c.Answer(answer.OK())
		default:
			elems := w.takeElems(k.items(len(c.Args) - 2))
			k.fill(elems, c, res, c.first, 0)
			c.answerList(elems)
		}
	}
}

// fill sets the elements from the one at to on, from item first of a result on, as
// many as the result and the call have, and those of items that were cut off.
func (k *OnSketch) fill(elems []answer.Reply, c *Call, res *store.Result, first, to int) {
	n := k.count(c)
	for i := first; to < n && i < res.Done; i++ {
		k.Element(&elems[to], res, i)
		to++
	}
	if to == n {
		for i := n; i < len(elems); i++ {
			elems[i] = k.Rest(i == n)
		}
	}
}

// runLong runs a call of very many items, up to most of them at a time. Other commands
// may be run between two pieces, as they may between two commands.
func (e *Engine) runLong(s *Session, p *store.Part, c *Call, most int) {
	k := c.cmd.Sketch
	if e.leave(s); k.Body != nil && !k.right(s, p, c) {
		return
	}
	var elems []answer.Reply
	if k.Body == nil || k.Element != nil {
		n := k.items(len(c.Args) - 2)
		if !e.holdReply(s, n*answer.ReplyBytes) {
			c.Fail(answer.TextOOM)
			return
		}
		elems = make([]answer.Reply, n)
	}
	done, cut := 0, 0
	for done < k.count(c) && !c.answered {
		if s.killed() {
			c.Fail(answer.TextStopped)
			return
		}
		e.settle(s) // the values of earlier pieces are not needed any more
		e.leave(s)  // others have their turn
		e.enter(s)
		entry := e.findSketch(s, c)
		switch {
		case entry == nil:
		case k.Body == nil:
			done += k.askPiece(store.PartOf(entry), c, elems[done:], done, most)
		case e.relieved(s, k, entry, most):
		case !e.busy(s):
			done += e.writePiece(s, entry, c, elems, done, most, &cut)
		}
	}
	switch {
	case c.answered:
	case elems == nil:
		c.Answer(answer.OK())
	default:
		c.Answer(answer.List(elems...))
	}
}

// right reports whether all items of a call are right, and answers if not: what is
// run in pieces is checked as a whole before, outside the gate.
func (k *OnSketch) right(s *Session, p *store.Part, c *Call) bool {
	var scratch []byte
	for i := 0; i < len(c.Items); i += k.Stride {
		if s.killed() {
			c.Fail(answer.TextStopped)
			return false
		}
		b, text := k.Encode(scratch[:0], p, c.Items[i:i+k.Stride])
		if text != "" {
			c.Fail(text)
			return false
		}
		scratch = b
	}
	return true
}

// askPiece answers for the items of a call from the one at done on, at most so many, and
// returns for how many.
func (k *OnSketch) askPiece(p *store.Part, c *Call, elems []answer.Reply, done, most int) int {
	p.RLock()
	defer p.RUnlock()
	if p.Gone() {
		return 0
	}
	items := c.Items[done:min(done+most, len(c.Items))]
	for i, item := range items {
		k.Ask(&elems[i], p, item)
	}
	return len(items)
}

// writePiece writes items of a call from the one at done on, at most so many, and returns
// how many. Of an item that is sliced it writes a piece behind cut.
func (e *Engine) writePiece(s *Session, entry *catalog.Entry, c *Call, elems []answer.Reply, done, most int, cut *int) int {
	w, k := s.w, c.cmd.Sketch
	w.reuse()
	p, mark, n, next := store.PartOf(entry), len(w.payload), 0, 0
	if !s.alone && k.sliced(p, c) {
		var piece [][]byte
		piece, next = k.Slice(p, c.Items[done*k.Stride:][:k.Stride], *cut)
		w.payload, _ = k.Encode(w.payload, p, piece)
		n, most = 1, 1
	}
	for n < most && done+n < k.count(c) && len(w.payload)-mark < sketchPiece {
		at := (done + n) * k.Stride
		w.payload, _ = k.Encode(w.payload, p, c.Items[at:at+k.Stride])
		n++
	}
	s.weight += n
	op, ok := e.sketchOp(w, k, entry, p, w.payload[mark:], n)
	if !ok {
		c.Fail(answer.TextOOM)
		return 0
	}
	ops := []*door.Op{&op.Op}
	e.do(s, ops)
	if !op.Settled {
		e.leave(s)
		e.waits(s, "wait for a piece")
		e.wait(s, ops)
	}
	e.Budget.release(op.Cost)
	switch res := &op.Result; {
	case op.Err != nil:
		c.Answer(e.unsettled(op.Err))
	case errors.Is(res.Err, store.ErrRetry):
		return 0
	case res.Err != nil:
		c.Fail(k.Fault)
	case elems != nil:
		before := elems[done]
		if k.fill(elems, c, res, 0, done); *cut > 0 && elems[done].Kind == answer.Null {
			elems[done] = before // an earlier piece has the answer
		}
	}
	if *cut = next; next > 0 {
		return 0
	}
	return n
}
