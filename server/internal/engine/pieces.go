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
	done  int
	err   error // of the first piece that had one

	failed map[int]string // errors of items that did not stop the others
}

// runPieces runs a call of more than maxRun items. Other commands may be run
// between two pieces, as they may between two commands.
func (e *Engine) runPieces(s *Session, calls []Call) {
	c := &calls[0]
	f, v := c.cmd.Filter, c.pieces
	if v == nil {
		if !e.holdReply(s, len(c.Items)) {
			c.Fail(answer.TextOOM)
			return
		}
		v = &pieces{}
		if f.Write != nil && f.Write.Codes {
			v.codes = make([]int8, len(c.Items))
		} else {
			v.found = make([]bool, len(c.Items))
		}
	}
	for v.done < len(c.Items) && v.err == nil && !c.answered {
		if s.killed() {
			c.Fail(answer.TextStopped)
			return
		}
		e.leave(s) // others have their turn
		e.enter(s)
		if entry := e.find(s, c); entry != nil {
			e.runPiece(s, calls, entry, v)
		}
	}
	switch {
	case c.answered:
	case len(v.failed) > 0:
		for i := v.done; i < len(c.Items); i++ {
			v.failAt(i, f.Write.Failure(v.err))
		}
		c.answerEach(v.found, v.failed)
	case f.Write == nil:
		c.AnswerBools(v.found)
	default:
		res := &s.w.view
		res.Err, res.Done, res.Failed = v.err, v.done, nil
		res.Bools, res.Codes = v.found, v.codes
		c.answered = true
		f.Write.Reply(c, res)
	}
}

// runPiece runs the next piece of a call on a filter.
func (e *Engine) runPiece(s *Session, calls []Call, entry *catalog.Entry, v *pieces) {
	c := &calls[0]
	f, w := c.cmd.Filter, s.w
	p := store.PartOf(entry)
	if f.Write != nil && e.busy(s) {
		return
	}
	if !e.checked(s, entry, calls) {
		return
	}
	e.settle(s) // the digests of earlier pieces are not needed any more
	e.enter(s)
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
	if store.PartCount(entry) > 1 {
		e.runPartsPiece(s, c, entry, v, first, len(items))
		return
	}
	if f.Write == nil {
		p.RLock()
		defer p.RUnlock()
		if !p.Gone() {
			f.Family.Contains(w, p, v.found[v.done:v.done+len(items)], first)
			v.done += len(items)
		}
		return
	}
	mark := len(w.bools)
	op := e.record(w, c, entry, p, first, len(items))
	w.bools = w.bools[:min(mark, len(w.bools))]
	if f.Write.Codes {
		op.Result.Codes = v.codes[v.done : v.done+len(items)]
	} else {
		op.Result.Bools = v.found[v.done : v.done+len(items)]
	}
	e.putPiece(s, c, op, v)
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

func (e *Engine) putPiece(s *Session, c *Call, op *Op, v *pieces) {
	e.doAndWait(s, []*door.Op{&op.Op})
	res := &op.Result
	switch {
	case op.Err != nil:
		c.Answer(e.unsettled(op.Err))
	case errors.Is(res.Err, store.ErrRetry):
	case c.cmd.Filter.Write.Codes && res.Done == len(op.Result.Codes):
		v.done += res.Done // an item without room does not stop the others
		if res.Err == nil {
			c.rooms = 0
		}
	case res.Failed != nil:
		for i, failed := range res.Failed {
			if failed {
				v.failAt(v.done+i, c.cmd.Filter.Write.Failure(res.Err))
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
