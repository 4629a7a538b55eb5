package bundle

// How calls on sketches run.

import (
	"errors"
	"fmt"
	"math"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/health"
	"github.com/bloomery/bloomery/server/internal/scratch"
	"github.com/bloomery/bloomery/server/internal/store"
)

// OnSketch is how a command on one sketch runs. Calls of one command on one key that
// follow each other are a bundle: they take its lock once, and those that write make
// one record.
//
// Arguments are checked behind the key, as RedisBloom does. A command of very many
// items is run in pieces, but checked as a whole before.
type OnSketch struct {
	Family *engine.Family
	// Missing is what is answered if there is no such key.
	Missing string
	// Stride is how many arguments an item has: 1, or 2 for one with a number.
	Stride int
	// Early, if there is one, checks what is checked before the key, and answers
	// if it is wrong. It sees arguments alone, so it is called once, however often the
	// call is run.
	Early func(*engine.Call)
	// Check, if there is one, looks at all arguments before Encode does, and
	// answers if they are wrong. It may cut Items: those behind are answered by
	// Rest.
	Check func(*engine.Call)
	// Rest answers for an item that Check has cut off, the first of them or not.
	Rest func(first bool) answer.Reply

	// Steps, if there is one, returns how many steps each item of a call takes at most:
	// a step is some tens of nanoseconds. It takes a lock of the part if it needs one.
	Steps func(p *contents.Part, c *engine.Call) int

	// Tries, if there is one, returns how often the items of arguments are tried in
	// every row of the sketch, at most.
	Tries func(args [][]byte) uint64

	// Slice, if there is one, returns the next piece of an item of which so much is done,
	// and how much is done with it: 0 if that is all. It is for single items that take
	// more than MaxSlice steps.
	Slice func(p *contents.Part, item [][]byte, done int) (piece [][]byte, next int)

	// Look answers a read about the whole sketch, under its read lock.
	Look func(*engine.Context, *contents.Part, *engine.Call)
	// Ask sets the answer of a read about one item, under the read lock.
	Ask func(r *answer.Reply, p *contents.Part, item []byte)

	// Body returns the record of a write, which may be in m, with items as Encode has
	// appended them.
	Body func(m *store.Scratch, items []byte) store.Body
	// Encode appends an item, Stride arguments, to the value of the record, or
	// returns what is wrong with it: then nothing of the call is done. It sees
	// only what never changes in the life of a sketch.
	Encode func(b []byte, p *contents.Part, item [][]byte) (value []byte, text string)
	// Element sets the answer for item i of the record; nil means that one +OK
	// answers for all of them.
	Element func(r *answer.Reply, res *store.Result, i int)
	// Relieve, if there is one, does what would take long under the lock before so many
	// items can be written, outside the gate. It reports false if there was nothing to
	// do, or nothing can be done.
	Relieve func(x *engine.Context, entry *catalog.Entry, items int) bool
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
)

// Longest returns how many steps more than one a row of a sketch takes to hash the longest
// item of a call.
func Longest(c *engine.Call) int {
	k, longest := c.Command().On.(*OnSketch), 0
	for i := 0; i < len(c.Items); i += k.Stride {
		longest = max(longest, len(c.Items[i]))
	}
	return longest / stepBytes
}

var _ engine.Bundled = (*OnSketch)(nil)

// Bundling implements engine.Bundled.
func (k *OnSketch) Bundling() engine.Bundling {
	return engine.Bundling{
		Family: k.Family, Early: k.Early, Stride: k.Stride, Most: math.MaxInt,
		Records: k.Body != nil, Adds: k.Encode != nil, Work: health.Other,
	}
}

// items returns how many items n arguments are.
func (k *OnSketch) items(n int) int {
	if k.Stride == 2 {
		return n / 2
	}
	return n
}

// Unfit implements engine.Bundled.
func (k *OnSketch) Unfit(_ engine.Turn, c *engine.Call, entry *catalog.Entry) {
	if entry == nil {
		c.Fail(k.Missing)
	} else {
		c.Fail(answer.TextWrongType)
	}
}

// Run implements engine.Bundled.
func (k *OnSketch) Run(t engine.Turn, entry *catalog.Entry, calls []engine.Call) {
	c, p := &calls[0], contents.PartOf(entry)
	n, most := k.checked(p, calls)
	switch {
	case n == 0:
	case k.Look == nil && (c.Count() > most || !t.Context().Alone() && k.sliced(p, c)):
		runPieces(k, t, calls[:1], &scratch.Pieces{Part: p, Most: most})
	case k.Body == nil:
		k.ask(t, p, calls[:n])
	case k.relieved(t, entry, maxItems) || p.Untouched() && t.Touched(p, countItems(calls[:n])):
	case !t.Busy():
		k.write(t, entry, p, calls[:n], most)
	}
}

// RunPieces implements engine.Bundled: of a call that was begun.
func (k *OnSketch) RunPieces(t engine.Turn, calls []engine.Call) {
	runPieces(k, t, calls, calls[0].Pieces)
}

// sliced reports whether a single item of a call is done in pieces.
func (k *OnSketch) sliced(p *contents.Part, c *engine.Call) bool {
	return k.Slice != nil && k.Steps(p, c) > MaxSlice
}

// relieved calls Relieve. It reports true if the gate was left: what was looked up may
// have changed. In a transaction everything is done under the lock, and in a cluster every
// machine does by itself what takes long.
func (k *OnSketch) relieved(t engine.Turn, entry *catalog.Entry, items int) bool {
	x := t.Context()
	return k.Relieve != nil && !x.Alone() && !x.Can().Cluster && !x.Killed() && k.Relieve(x, entry, items)
}

// checked checks the arguments of calls and returns how many of them can be run
// together: those up to the first that is wrong, or up to as many items as may be
// looked at under one lock, but the first whatever it has. It returns that number, too.
func (k *OnSketch) checked(p *contents.Part, calls []engine.Call) (n, most int) {
	items, most := 0, maxItems
	for i := range calls {
		c := &calls[i]
		c.Items = c.Args[2:]
		if k.Check != nil {
			if k.Check(c); c.Answered() {
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
		if items += c.Count(); i > 0 && items > most {
			return i, most
		}
	}
	return len(calls), most
}

// tooLong refuses a call with an item that takes too long to hash.
func (k *OnSketch) tooLong(p *contents.Part, c *engine.Call) bool {
	rows := p.Rows()
	if rows*(1+Longest(c)) <= maxHashSteps {
		return false
	}
	c.Fail(fmt.Sprintf(textLongItem, rows, maxHashSteps*stepBytes>>20))
	return true
}

const textLongItem = "ERR an item is too long for this sketch: each of its %d rows hashes it, and that may be %d MiB together"

// ask answers calls under the read lock of p. It answers none if the sketch is gone.
func (k *OnSketch) ask(t engine.Turn, p *contents.Part, calls []engine.Call) {
	if len(calls) > 1 {
		t.Looked(len(calls) - 1)
	}
	p.RLock()
	defer p.RUnlock()
	if p.Gone() {
		return
	}
	for i := range calls {
		c := &calls[i]
		t.Weigh(1 + len(c.Items))
		if k.Look != nil {
			k.Look(t.Context(), p, c)
			continue
		}
		elems := t.Memory().Elems(len(c.Items))
		for j, item := range c.Items {
			k.Ask(&elems[j], p, item)
		}
		c.AnswerList(elems)
	}
}

// write makes one record of calls, as many as its value has room for, and puts it in
// order.
func (k *OnSketch) write(t engine.Turn, entry *catalog.Entry, p *contents.Part, calls []engine.Call, most int) {
	m := t.Memory()
	t.Reuse()
	mark, items, n, wrong := len(m.Payload), 0, 0, 0
	for ; n < len(calls) && len(m.Payload)-mark < sketchPiece; n++ {
		c := &calls[n]
		fits := k.encode(m, p, c)
		if !fits && n > 0 {
			break // too long to come behind others
		}
		if !fits {
			runPieces(k, t, calls[:1], &scratch.Pieces{Part: p, Most: most})
			return
		}
		if c.First = items; c.Answered() {
			wrong++
		} else {
			items += c.Count()
		}
	}
	t.Weigh(items + n)
	if wrong == n {
		return
	}
	op, ok := k.op(t, entry, m.Payload[mark:], items)
	if !ok {
		for i := range calls[:n] {
			if c := &calls[i]; !c.Answered() {
				c.Fail(answer.TextOOM)
			}
		}
		return
	}
	t.Put(calls[:n:n], op)
	t.Order()
}

// encode appends the items of a call to the payload, or answers the call if one of
// them is wrong. It reports false, and appends nothing, if they are too long for one
// record.
func (k *OnSketch) encode(m *scratch.Memory, p *contents.Part, c *engine.Call) (fits bool) {
	before := len(m.Payload)
	for i := 0; i < len(c.Items); i += k.Stride {
		if len(m.Payload)-before >= sketchPiece {
			m.Payload = m.Payload[:before]
			return false
		}
		var text string
		if m.Payload, text = k.Encode(m.Payload, p, c.Items[i:i+k.Stride]); text != "" {
			m.Payload = m.Payload[:before]
			c.Fail(text)
			return true
		}
	}
	return true
}

// op returns an op that writes value, of so many items. It reports false if there is no
// memory for it.
func (k *OnSketch) op(t engine.Turn, entry *catalog.Entry, value []byte, items int) (*engine.Op, bool) {
	op := t.Op()
	body, effect := k.Body(&op.Scratch, value), op.Effect
	op.Op = door.Op{Part: contents.PartOf(entry), Record: store.Record{ID: entry.ID, Body: body}, Effect: effect}
	op.Cost = 0
	if k.Element != nil {
		op.Result.Counts = t.Memory().Counts(items)
	}
	if k.Grows {
		op.Cost = uint64(len(value))
		return op, t.Context().Budget().Reserve(op.Cost)
	}
	return op, true
}

// Settled implements engine.Bundled.
func (k *OnSketch) Settled(t engine.Turn, v engine.Span) {
	if v.Op.Cost > 0 {
		t.Context().Budget().Release(v.Op.Cost)
	}
	res := &v.Op.Result
	if v.Op.Err == nil && errors.Is(res.Err, contents.ErrRetry) {
		return // the sketch is gone
	}
	for i := range v.Calls {
		c := &v.Calls[i]
		switch {
		case c.Answered(): // it was wrong
		case v.Op.Err != nil:
			c.Answer(t.Unsettled(v.Op.Err))
		case res.Err != nil:
			c.Fail(k.Fault)
		case k.Element == nil:
			c.Answer(answer.OK())
		default:
			elems := t.Memory().Elems(k.items(len(c.Args) - 2))
			k.fill(elems, c, res, c.First, 0)
			c.AnswerList(elems)
		}
	}
}

// fill sets the elements from the one at to on, from item first of a result on, as
// many as the result and the call have, and those of items that were cut off.
func (k *OnSketch) fill(elems []answer.Reply, c *engine.Call, res *store.Result, first, to int) {
	n := c.Count()
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

func (k *OnSketch) begin(t engine.Turn, c *engine.Call, v *scratch.Pieces) bool {
	if k.Body != nil && !k.right(t, v.Part, c) {
		return false
	}
	if k.Body == nil || k.Element != nil {
		n := k.items(len(c.Args) - 2)
		if !t.Context().Hold(n * answer.ReplyBytes) {
			c.Fail(answer.TextOOM)
			return false
		}
		v.Elems = make([]answer.Reply, n)
	}
	return true
}

func (k *OnSketch) piece(t engine.Turn, entry *catalog.Entry, calls []engine.Call, v *scratch.Pieces) {
	switch c := &calls[0]; {
	case k.Body == nil:
		v.Done += k.askPiece(contents.PartOf(entry), c, v)
	case k.relieved(t, entry, v.Most) || t.Touched(contents.PartOf(entry), len(calls[0].Items)):
	case !t.Busy():
		v.Done += k.writePiece(t, entry, c, v)
	}
}

func (k *OnSketch) finish(_ engine.Turn, c *engine.Call, v *scratch.Pieces) {
	if v.Elems == nil {
		c.Answer(answer.OK())
	} else {
		c.Answer(answer.List(v.Elems...))
	}
}

// right reports whether all items of a call are right, and answers if not: what is
// run in pieces is checked as a whole before, outside the gate.
func (k *OnSketch) right(t engine.Turn, p *contents.Part, c *engine.Call) bool {
	var scratch []byte
	for i := 0; i < len(c.Items); i += k.Stride {
		if t.Context().Killed() {
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
func (k *OnSketch) askPiece(p *contents.Part, c *engine.Call, v *scratch.Pieces) int {
	p.RLock()
	defer p.RUnlock()
	if p.Gone() {
		return 0
	}
	items := c.Items[v.Done:min(v.Done+v.Most, len(c.Items))]
	for i, item := range items {
		k.Ask(&v.Elems[v.Done+i], p, item)
	}
	return len(items)
}

// writePiece writes the next items of a call and returns how many. Of an item that is
// sliced it writes a piece.
func (k *OnSketch) writePiece(t engine.Turn, entry *catalog.Entry, c *engine.Call, v *scratch.Pieces) int {
	m, p := t.Memory(), contents.PartOf(entry)
	t.Reuse()
	mark, n, next, most := len(m.Payload), 0, 0, v.Most
	if !t.Context().Alone() && k.sliced(p, c) {
		var piece [][]byte
		piece, next = k.Slice(p, c.Items[v.Done*k.Stride:][:k.Stride], v.Cut)
		m.Payload, _ = k.Encode(m.Payload, p, piece)
		n, most = 1, 1
	}
	for n < most && v.Done+n < c.Count() && len(m.Payload)-mark < sketchPiece {
		at := (v.Done + n) * k.Stride
		m.Payload, _ = k.Encode(m.Payload, p, c.Items[at:at+k.Stride])
		n++
	}
	t.Weigh(n)
	op, ok := k.op(t, entry, m.Payload[mark:], n)
	if !ok {
		c.Fail(answer.TextOOM)
		return 0
	}
	t.Apply([]*door.Op{&op.Op})
	t.Context().Budget().Release(op.Cost)
	switch res := &op.Result; {
	case op.Err != nil:
		c.Answer(t.Unsettled(op.Err))
	case errors.Is(res.Err, contents.ErrRetry):
		return 0
	case res.Err != nil:
		c.Fail(k.Fault)
	case v.Elems != nil:
		before := v.Elems[v.Done]
		if k.fill(v.Elems, c, res, 0, v.Done); v.Cut > 0 && v.Elems[v.Done].Kind == answer.Null {
			v.Elems[v.Done] = before // an earlier piece has the answer
		}
	}
	if v.Cut = next; next > 0 {
		return 0
	}
	return n
}
