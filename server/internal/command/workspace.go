package command

import (
	"github.com/bloomery/bloomery/foreign/redisbloom"
	"github.com/bloomery/bloomery/server/internal/door"
)

// Workspace is memory for running commands that is used again and again. A
// connection takes one from a pool when it has something to run. The zero value
// is ready to use.
type Workspace struct {
	Calls []Call

	digests []redisbloom.Digest
	hashes  []uint64
	bools   []bool
	codes   []redisbloom.Result
	ops     []door.Op
	refs    []*door.Op
}

// maxKept bounds the items for which a workspace keeps memory.
const maxKept = 4096

// Add appends a call with these arguments.
func (w *Workspace) Add(args [][]byte) {
	if len(w.Calls) < cap(w.Calls) {
		w.Calls = w.Calls[:len(w.Calls)+1]
		c := &w.Calls[len(w.Calls)-1]
		c.Args, c.Reply.Kind, c.answered, c.Mute, c.option = args, None, false, false, nil
		return
	}
	w.Calls = append(w.Calls, Call{Args: args})
}

// Reset forgets all calls.
func (w *Workspace) Reset() {
	w.Calls = w.Calls[:0]
	w.forget()
}

// forget makes the item memory free for the next calls. Replies that still use
// it have been written.
func (w *Workspace) forget() {
	if cap(w.digests) > maxKept {
		w.digests = nil
	}
	if cap(w.hashes) > maxKept {
		w.hashes = nil
	}
	if cap(w.bools) > maxKept {
		w.bools = nil
	}
	if cap(w.codes) > maxKept {
		w.codes = nil
	}
	w.digests, w.hashes = w.digests[:0], w.hashes[:0]
	w.bools, w.codes = w.bools[:0], w.codes[:0]
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
func (w *Workspace) takeCodes(n int) []redisbloom.Result {
	if cap(w.codes)-len(w.codes) < n {
		w.codes = make([]redisbloom.Result, 0, max(n, 256))
	}
	at := len(w.codes)
	w.codes = w.codes[:at+n]
	return w.codes[at : at+n : at+n]
}

// takeOps returns n operations and pointers to them; the next call takes the
// same ones again.
func (w *Workspace) takeOps(n int) ([]door.Op, []*door.Op) {
	if cap(w.ops) < n {
		w.ops = make([]door.Op, n)
		w.refs = make([]*door.Op, n)
		for i := range w.ops {
			w.refs[i] = &w.ops[i]
		}
	}
	return w.ops[:n], w.refs[:n]
}
