package engine

// Workspace: memory that is used again from call to call.

import (
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/routes"
	"github.com/bloomery/bloomery/server/internal/store"
)

// Workspace is memory for running commands that is used again and again. A
// connection takes one from a pool when it has something to run. The zero value
// is ready to use.
type Workspace struct {
	Calls []Call

	// Digests and Hashes are those of the items that are being looked at;
	// families append to the one that they use.
	Digests []redisbloom.Digest
	Hashes  []uint64

	payload []byte         // values of records of sketches
	elems   []answer.Reply // elements of replies
	counts  []uint32

	seconds []uint64      // hashes for the shadow of a filter, each at the place of its first
	shadow  *store.Shadow // of the filter that is being written to; nil if it has none

	routes  routes.Table
	second  []uint64 // those of seconds, sorted as routes is
	bools   []bool
	codes   []int8
	ops     []*Op // taken and free ones
	taken   int
	used    int        // the most that were taken since Reset
	spans   []span     // of the bundle that is being run
	refs    []*door.Op // their ops
	pending []span     // put in order and not applied yet
	view    store.Result
}

// span is calls whose answers come from one op.
type span struct {
	calls []Call
	op    *Op
}

// maxKept bounds the items for which a workspace keeps memory.
const maxKept = 4096

// Add appends a call with these arguments.
func (w *Workspace) Add(args [][]byte) {
	if len(w.Calls) < cap(w.Calls) {
		w.Calls = w.Calls[:len(w.Calls)+1]
		c := &w.Calls[len(w.Calls)-1]
		c.Args, c.Reply.Kind, c.answered, c.Mute, c.Option, c.finish = args, answer.None, false, false, nil, nil
		c.waiting, c.single, c.queued, c.rooms, c.pieces, c.made = false, false, false, 0, nil, nil
		return
	}
	w.Calls = append(w.Calls, Call{Args: args})
}

// Reset forgets all calls.
func (w *Workspace) Reset() {
	w.Calls = w.Calls[:0]
	if cap(w.seconds) > maxKept {
		w.seconds = nil
	}
	w.shadow = nil
	clear(w.elems) // they keep what a client has sent
	w.Digests, w.Hashes = emptied(w.Digests, maxKept), emptied(w.Hashes, maxKept)
	w.bools, w.codes = emptied(w.bools, maxKept), emptied(w.codes, maxKept)
	w.elems, w.counts = emptied(w.elems, maxKept), emptied(w.counts, maxKept)
	w.payload = emptied(w.payload, maxPayload)
	for _, op := range w.ops[:w.used] {
		*op = Op{} // it keeps what a client has sent
	}
	w.taken, w.used, w.pending = 0, 0, nil
}

// emptied returns s without its elements, and without its memory if that is for more
// than most of them.
func emptied[T any](s []T, most int) []T {
	if cap(s) > most {
		return nil
	}
	return s[:0]
}

// reuse makes the memory of digests and ops free again, if no record that is on
// its way is in it.
func (w *Workspace) reuse() {
	if len(w.pending) == 0 {
		w.Digests, w.Hashes, w.taken = w.Digests[:0], w.Hashes[:0], 0
		w.payload, w.counts = w.payload[:0], w.counts[:0]
	}
}

// takeBools returns n booleans that stay valid until Reset.
func (w *Workspace) takeBools(n int) []bool {
	if cap(w.bools)-len(w.bools) < n {
		w.bools = make([]bool, 0, max(n, 256))
	}
	at := len(w.bools)
	w.bools = w.bools[:at+n]
	return w.bools[at : at+n : at+n]
}

// takeCodes returns n codes that stay valid until Reset.
func (w *Workspace) takeCodes(n int) []int8 {
	if cap(w.codes)-len(w.codes) < n {
		w.codes = make([]int8, 0, max(n, 256))
	}
	at := len(w.codes)
	w.codes = w.codes[:at+n]
	return w.codes[at : at+n : at+n]
}

// takeCounts returns room for n counts. It is the caller's until its records are
// answered.
func (w *Workspace) takeCounts(n int) []uint32 {
	if cap(w.counts)-len(w.counts) < n {
		w.counts = make([]uint32, 0, max(n, maxRun))
	}
	at := len(w.counts)
	w.counts = w.counts[:at+n]
	return w.counts[at : at : at+n]
}

// takeElems returns n replies that stay valid until Reset.
func (w *Workspace) takeElems(n int) []answer.Reply {
	if cap(w.elems)-len(w.elems) < n {
		w.elems = make([]answer.Reply, 0, max(n, 64, min(2*cap(w.elems), maxKept)))
	}
	at := len(w.elems)
	w.elems = w.elems[:at+n]
	return w.elems[at : at+n : at+n]
}

// takeOp returns an op that is the caller's until it is settled.
func (w *Workspace) takeOp() *Op {
	if w.taken == len(w.ops) {
		w.ops = append(w.ops, new(Op))
	}
	op := w.ops[w.taken]
	w.taken++
	w.used = max(w.used, w.taken)
	return op
}
