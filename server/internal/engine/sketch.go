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
	// if it is wrong. It sees arguments alone, so it is called once, however often the
	// call is run.
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

func (k *OnSketch) unfit(_ *Engine, _ *Session, c *Call, entry *catalog.Entry) {
	if entry == nil {
		c.Fail(k.Missing)
	} else {
		c.Fail(answer.TextWrongType)
	}
}

func (k *OnSketch) run(e *Engine, s *Session, entry *catalog.Entry, calls []Call) {
	c, p := &calls[0], store.PartOf(entry)
	n, most := k.checked(p, calls)
	switch {
	case n == 0:
	case k.Look == nil && (k.count(c) > most || !s.alone && k.sliced(p, c)):
		e.runPieces(s, calls[:1], &pieces{part: p, most: most})
	case k.Body == nil:
		k.ask(e, s, p, calls[:n])
	case k.relieved(e, s, entry, maxItems):
	case !e.busy(s):
		k.write(e, s, entry, p, calls[:n], most)
	}
}

// sliced reports whether a single item of a call is done in pieces.
func (k *OnSketch) sliced(p *store.Part, c *Call) bool {
	return k.Slice != nil && k.Steps(p, c) > MaxSlice
}

// relieved calls Relieve. It reports true if the gate was left: what was looked up may
// have changed. In a transaction, and in a cluster, everything is done under the lock.
func (k *OnSketch) relieved(e *Engine, s *Session, entry *catalog.Entry, items int) bool {
	return k.Relieve != nil && !s.alone && e.shared == nil && !s.killed() && k.Relieve(&s.ctx, entry, items)
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

// ask answers calls under the read lock of p. It answers none if the sketch is gone.
func (k *OnSketch) ask(e *Engine, s *Session, p *store.Part, calls []Call) {
	if len(calls) > 1 {
		e.notes.Counters.Looked(&s.Client, true, len(calls)-1)
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

// write makes one record of calls, as many as its value has room for, and puts it in
// order.
func (k *OnSketch) write(e *Engine, s *Session, entry *catalog.Entry, p *store.Part, calls []Call, most int) {
	w := s.w
	w.reuse()
	mark, items, n, wrong := len(w.payload), 0, 0, 0
	for ; n < len(calls) && len(w.payload)-mark < sketchPiece; n++ {
		c := &calls[n]
		fits := w.encode(k, p, c)
		if !fits && n > 0 {
			break // too long to come behind others
		}
		if !fits {
			e.runPieces(s, calls[:1], &pieces{part: p, most: most})
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
	op, ok := k.op(e, w, entry, w.payload[mark:], items)
	if !ok {
		for i := range calls[:n] {
			if c := &calls[i]; !c.answered {
				c.Fail(answer.TextOOM)
			}
		}
		return
	}
	w.spans = append(w.spans[:0], span{calls[:n:n], op})
	e.order(s, w.spans)
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

// op returns an op that writes value, of so many items. It reports false if there is no
// memory for it.
func (k *OnSketch) op(e *Engine, w *Workspace, entry *catalog.Entry, value []byte, items int) (*Op, bool) {
	op := w.takeOp()
	*op = Op{Op: door.Op{Part: store.PartOf(entry)}}
	op.Record = store.Record{ID: entry.ID, Body: k.Body(&op.scratch, value)}
	if k.Element != nil {
		op.Result.Counts = w.takeCounts(items)
	}
	if k.Grows {
		op.Cost = uint64(len(value))
		return op, e.Budget.Reserve(op.Cost)
	}
	return op, true
}

func (k *OnSketch) settled(e *Engine, w *Workspace, v span) {
	if v.op.Cost > 0 {
		e.Budget.Release(v.op.Cost)
	}
	res := &v.op.Result
	if v.op.Err == nil && errors.Is(res.Err, store.ErrRetry) {
		return // the sketch is gone
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

func (k *OnSketch) begin(e *Engine, s *Session, c *Call, v *pieces) bool {
	if k.Body != nil && !k.right(s, v.part, c) {
		return false
	}
	if k.Body == nil || k.Element != nil {
		n := k.items(len(c.Args) - 2)
		if !e.holdReply(s, n*answer.ReplyBytes) {
			c.Fail(answer.TextOOM)
			return false
		}
		v.elems = make([]answer.Reply, n)
	}
	return true
}

func (k *OnSketch) piece(e *Engine, s *Session, entry *catalog.Entry, calls []Call, v *pieces) {
	switch c := &calls[0]; {
	case k.Body == nil:
		v.done += k.askPiece(store.PartOf(entry), c, v)
	case k.relieved(e, s, entry, v.most):
	case !e.busy(s):
		v.done += k.writePiece(e, s, entry, c, v)
	}
}

func (k *OnSketch) finish(_ *Workspace, c *Call, v *pieces) {
	if v.elems == nil {
		c.Answer(answer.OK())
	} else {
		c.Answer(answer.List(v.elems...))
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

// askPiece answers for the next items of a call and returns for how many.
func (k *OnSketch) askPiece(p *store.Part, c *Call, v *pieces) int {
	p.RLock()
	defer p.RUnlock()
	if p.Gone() {
		return 0
	}
	items := c.Items[v.done:min(v.done+v.most, len(c.Items))]
	for i, item := range items {
		k.Ask(&v.elems[v.done+i], p, item)
	}
	return len(items)
}

// writePiece writes the next items of a call and returns how many. Of an item that is
// sliced it writes a piece.
func (k *OnSketch) writePiece(e *Engine, s *Session, entry *catalog.Entry, c *Call, v *pieces) int {
	w, p := s.w, store.PartOf(entry)
	w.reuse()
	mark, n, next, most := len(w.payload), 0, 0, v.most
	if !s.alone && k.sliced(p, c) {
		var piece [][]byte
		piece, next = k.Slice(p, c.Items[v.done*k.Stride:][:k.Stride], v.cut)
		w.payload, _ = k.Encode(w.payload, p, piece)
		n, most = 1, 1
	}
	for n < most && v.done+n < k.count(c) && len(w.payload)-mark < sketchPiece {
		at := (v.done + n) * k.Stride
		w.payload, _ = k.Encode(w.payload, p, c.Items[at:at+k.Stride])
		n++
	}
	s.weight += n
	op, ok := k.op(e, w, entry, w.payload[mark:], n)
	if !ok {
		c.Fail(answer.TextOOM)
		return 0
	}
	e.doAndWait(s, []*door.Op{&op.Op})
	e.Budget.Release(op.Cost)
	switch res := &op.Result; {
	case op.Err != nil:
		c.Answer(e.unsettled(op.Err))
	case errors.Is(res.Err, store.ErrRetry):
		return 0
	case res.Err != nil:
		c.Fail(k.Fault)
	case v.elems != nil:
		before := v.elems[v.done]
		if k.fill(v.elems, c, res, 0, v.done); v.cut > 0 && v.elems[v.done].Kind == answer.Null {
			v.elems[v.done] = before // an earlier piece has the answer
		}
	}
	if v.cut = next; next > 0 {
		return 0
	}
	return n
}
