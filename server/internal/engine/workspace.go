package engine

// Workspace: memory that is used again from call to call.

import (
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/scratch"
	"github.com/bloomery/bloomery/server/internal/store"
)

// Workspace is memory for running commands that is used again and again. A
// connection takes one from a pool when it has something to run. The zero value
// is ready to use.
type Workspace struct {
	Calls []Call

	// Memory is for items on their way.
	Memory scratch.Memory

	ops     []*Op // taken and free ones
	effect  store.Effect
	taken   int
	used    int        // the most that were taken since Reset
	spans   []Span     // of the bundle that is being run
	refs    []*door.Op // their ops
	pending []Span     // put in order and not applied yet
	passed  []*passing // for other machines to run
	wholes  []*whole   // whose parts are run
	joints  []joint    // that are asked as one
	late    []ran      // that wait, and are counted when they are answered

	division division
}

// Span is calls whose answers come from one op.
type Span struct {
	Calls []Call
	Op    *Op
}

// Add appends a call with these arguments.
func (w *Workspace) Add(args [][]byte) {
	if len(w.Calls) < cap(w.Calls) {
		w.Calls = w.Calls[:len(w.Calls)+1]
		c := &w.Calls[len(w.Calls)-1]
		c.Args, c.Reply.Kind, c.filter = args, answer.None, 0
		c.Rooms, c.Single, c.Mute, c.answered, c.queued, c.waiting, c.looked, c.looks = 0, false, false, false, false, false, false, 0
		c.Option, c.Pieces, c.made, c.finish = nil, nil, nil, nil
		return
	}
	w.Calls = append(w.Calls, Call{Args: args})
}

// Reset forgets all calls.
func (w *Workspace) Reset() {
	w.Calls = w.Calls[:0]
	w.Memory.Reset()
	w.division.reset()
	for _, op := range w.ops[:w.used] {
		op.forget()
	}
	w.taken, w.used, w.pending, w.passed, w.wholes, w.joints = 0, 0, nil, nil, nil, nil
	clear(w.late)
	w.late = w.late[:0]
}

// forget forgets what a client has sent. What hashes there are in Scratch is memory of the
// workspace; values of sketches may be long.
func (op *Op) forget() {
	op.Op, op.Cost, op.NoMemory, op.granted = door.Op{}, 0, "", nil
	v := &op.Scratch
	v.CountMinIncr.Items, v.TopKIncr.Items, v.TDigestAdd.Values = nil, nil, nil
}

// reuse makes the memory of digests and ops free again, if no record that is on
// its way is in it.
func (w *Workspace) reuse() {
	if len(w.pending) == 0 {
		w.taken = 0
		w.Memory.Reuse()
	}
}

// takeOp returns an op that is the caller's until it is settled.
func (w *Workspace) takeOp() *Op {
	if w.taken == len(w.ops) {
		w.ops = append(w.ops, new(Op))
	}
	op := w.ops[w.taken]
	op.Effect = &w.effect
	w.taken++
	w.used = max(w.used, w.taken)
	return op
}
