package engine

// Calls of very many items, run in pieces.

import (
	"errors"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/store"
)

// pieces is a call of very many items while it is run, some of them at a time.
// Digests take memory for one piece only; the answers are held for the reply.
type pieces struct {
	found []bool
	codes []int8
	elems []answer.Reply // of a sketch
	done  int
	err   error // of the first piece that had one

	failed map[int]string // errors of items that did not stop the others

	part *store.Part // of a sketch: what the items were checked for
	most int         // of a sketch: how many items a piece has
	cut  int         // of a sketch: how much is done of an item that is sliced
}

// runPieces runs calls[0] in pieces. Other commands may be run between two of them, as
// they may between two commands.
func (e *Engine) runPieces(s *Session, calls []Call, v *pieces) {
	c := &calls[0]
	on := c.cmd.on
	if e.leave(s); !on.begin(e, s, c, v) {
		return
	}
	for v.done < c.count() && v.err == nil && !c.answered {
		if s.killed() {
			c.Fail(answer.TextStopped)
			return
		}
		e.settle(s) // what earlier pieces have in the workspace is not needed any more
		e.leave(s)  // others have their turn
		e.enter(s)
		if entry := e.find(s, c); entry != nil {
			on.piece(e, s, entry, calls, v)
		}
	}
	if !c.answered {
		on.finish(s.w, c, v)
	}
}

func (f *OnFilter) begin(e *Engine, s *Session, c *Call, v *pieces) bool {
	switch {
	case v.found != nil || v.codes != nil: // a record has done the beginning
	case !e.holdReply(s, len(c.Items)):
		c.Fail(answer.TextOOM)
		return false
	case f.Write != nil && f.Write.Codes:
		v.codes = make([]int8, len(c.Items))
	default:
		v.found = make([]bool, len(c.Items))
	}
	return true
}

func (f *OnFilter) piece(e *Engine, s *Session, entry *catalog.Entry, calls []Call, v *pieces) {
	c, w, p := &calls[0], s.w, store.PartOf(entry)
	s.filter = entry.ID
	if f.Write != nil && e.busy(s) {
		return
	}
	if !e.checked(s, entry, calls) {
		return
	}
	w.reuse()
	items := c.Items[v.done:min(v.done+e.pieceItems(f, p), len(c.Items))]
	w.shadow = e.shadowOf(f, entry)
	apart := !s.alone && bytesOf(items) >= longBytes
	if apart {
		e.leave(s)
	}
	first := f.hash()(w, p, items)
	if w.shadow != nil {
		w.hashSecond(items, first)
	}
	if apart && !e.back(s, c, entry) {
		return
	}
	s.weight += len(items)
	switch {
	case store.PartCount(entry) > 1:
		e.runPartsPiece(s, c, entry, v, first, len(items))
	case f.Write == nil:
		p.RLock()
		defer p.RUnlock()
		if !p.Gone() {
			f.Family.Contains(w, p, v.found[v.done:v.done+len(items)], first)
			v.done += len(items)
		}
	default:
		e.writePiece(s, c, entry, v, first, len(items))
	}
}

func (f *OnFilter) finish(w *Workspace, c *Call, v *pieces) {
	switch {
	case len(v.failed) > 0:
		for i := v.done; i < len(c.Items); i++ {
			v.failAt(i, f.Write.Failure(v.err))
		}
		c.answerEach(v.found, v.failed)
	case f.Write == nil:
		c.AnswerBools(v.found)
	default:
		res := &w.view
		res.Err, res.Done, res.Failed = v.err, v.done, nil
		res.Bools, res.Codes = v.found, v.codes
		c.answered = true
		f.Write.Reply(c, res)
	}
}

// sharedRun is how many items of a command a record has in a cluster. Each record is
// waited for there, and a message costs far more than the items in it.
const sharedRun = 1024

// itemBytes is what an item takes in a record, at most.
const itemBytes = 32

// pieceItems returns how many items of a part a piece has.
func (e *Engine) pieceItems(f *OnFilter, p *store.Part) int {
	most := p.Run()
	if f.Write == nil || e.shared == nil || most < maxRun {
		return most
	}
	return max(maxRun, min(sharedRun, e.shared.MaxRecord()/itemBytes))
}

// writePiece makes the record of n digests from the one at first on, and waits for it.
func (e *Engine) writePiece(s *Session, c *Call, entry *catalog.Entry, v *pieces, first, n int) {
	w, write := s.w, c.cmd.Filter.Write
	mark := len(w.bools)
	op := e.record(w, c, entry, store.PartOf(entry), first, n)
	w.bools = w.bools[:min(mark, len(w.bools))]
	res := &op.Result
	if write.Codes {
		res.Codes = v.codes[v.done : v.done+n]
	} else {
		res.Bools = v.found[v.done : v.done+n]
	}
	e.doAndWait(s, []*door.Op{&op.Op})
	switch {
	case op.Err != nil:
		c.Answer(e.unsettled(op.Err))
	case errors.Is(res.Err, store.ErrRetry):
	case write.Codes && res.Done == len(res.Codes):
		v.done += res.Done // an item without room does not stop the others
		if res.Err == nil {
			c.rooms = 0
		}
	case res.Failed != nil:
		for i, failed := range res.Failed {
			if failed {
				v.failAt(v.done+i, write.Failure(res.Err))
			}
		}
		v.done += res.Done
	case c.lacksRoom(res):
		v.done += res.Done
	default:
		v.done += res.Done
		v.err = res.Err
	}
}
