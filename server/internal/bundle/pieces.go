package bundle

// Calls of very many items, run in pieces.

import (
	"errors"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/scratch"
)

// inPieces is what is left to commands on filters, and to those on sketches, of a call that
// is run in pieces.
type inPieces interface {
	engine.Bundled
	// begin makes room for the answers. It reports false if it has answered.
	begin(t engine.Turn, c *engine.Call, v *scratch.Pieces) bool
	// piece runs the next piece.
	piece(t engine.Turn, entry *catalog.Entry, calls []engine.Call, v *scratch.Pieces)
	// finish answers a call of which no piece is left, or one has failed.
	finish(t engine.Turn, c *engine.Call, v *scratch.Pieces)
}

// runPieces runs calls[0] in pieces. Other commands may be run between two of them, as
// they may between two commands.
func runPieces(on inPieces, t engine.Turn, calls []engine.Call, v *scratch.Pieces) {
	c := &calls[0]
	if t.Leave(); !on.begin(t, c, v) {
		return
	}
	for v.Done < c.Count() && v.Err == nil && !c.Answered() {
		if t.Context().Killed() {
			c.Fail(answer.TextStopped)
			return
		}
		t.Settle() // what earlier pieces have in the memory is not needed any more
		t.Leave()  // others have their turn
		t.Context().GiveWay()
		t.Enter()
		if entry := t.Find(c); entry != nil {
			on.piece(t, entry, calls, v)
		}
	}
	if !c.Answered() {
		on.finish(t, c, v)
	}
}

// RunPieces implements engine.Bundled.
func (f *OnFilter) RunPieces(t engine.Turn, calls []engine.Call) {
	v := calls[0].Pieces
	if v == nil {
		v = &scratch.Pieces{}
	}
	runPieces(f, t, calls, v)
}

func (f *OnFilter) begin(t engine.Turn, c *engine.Call, v *scratch.Pieces) bool {
	switch {
	case v.Found != nil || v.Codes != nil: // a record has done the beginning
	case !t.Context().Hold(len(c.Items)):
		c.Fail(answer.TextOOM)
		return false
	case f.Write != nil && f.Write.Codes:
		v.Codes = make([]int8, len(c.Items))
	default:
		v.Found = make([]bool, len(c.Items))
	}
	return true
}

func (f *OnFilter) piece(t engine.Turn, entry *catalog.Entry, calls []engine.Call, v *scratch.Pieces) {
	c, m, p := &calls[0], t.Memory(), contents.PartOf(entry)
	t.Meter(entry)
	if f.Write != nil && (t.Busy() || p.Untouched() && f.adds() && touched(t, entry, len(c.Items)-v.Done)) {
		return
	}
	if !f.checked(t, entry, calls) {
		return
	}
	t.Reuse()
	items := c.Items[v.Done:min(v.Done+f.pieceItems(t, entry), len(c.Items))]
	if m.Shadow = f.shadowOf(t, entry); m.Shadow != nil && touched(t, m.Shadow.Entry(), len(items)) {
		return
	}
	apart := bytesOf(items) >= longBytes && !t.Context().Alone()
	if apart {
		t.Leave()
	}
	first := f.hash(c)(m, p, items)
	if m.Shadow != nil {
		hashSecond(m, items, first)
	}
	if apart && !f.back(t, c, entry) {
		return
	}
	t.Weigh(len(items))
	switch {
	case contents.PartCount(entry) > 1:
		runPartsPiece(t, c, entry, v, first, len(items))
	case f.Write == nil:
		p.RLock()
		defer p.RUnlock()
		if !p.Gone() {
			f.Family.Contains(m, p, v.Found[v.Done:v.Done+len(items)], first)
			v.Done += len(items)
		}
	default:
		f.writePiece(t, c, entry, v, first, len(items))
	}
}

func (f *OnFilter) finish(t engine.Turn, c *engine.Call, v *scratch.Pieces) {
	switch {
	case len(v.Failed) > 0:
		for i := v.Done; i < len(c.Items); i++ {
			v.Fail(i, f.Write.Failure(v.Err))
		}
		answerEach(c, v.Found, v.Failed)
	case f.Write == nil:
		c.AnswerBools(v.Found)
	default:
		res := &t.Memory().View
		res.Err, res.Done, res.Failed = v.Err, v.Done, nil
		res.Bools, res.Codes = v.Found, v.Codes
		f.reply(c, res)
	}
}

// sharedRun is how many items of a command a record has in a cluster. Each record is
// waited for there, and a message costs far more than the items in it.
const sharedRun = 1024

// itemBytes is what an item takes in a record, at most.
const itemBytes = 32

// readRun is how many times as many items a piece of a read has where they lie in so many parts:
// few of them are looked at under one lock.
const readRun = 4

// pieceItems returns how many items of a filter a piece has.
func (f *OnFilter) pieceItems(t engine.Turn, entry *catalog.Entry) int {
	most := f.run(t, entry)
	longest := t.Context().Contents().MaxRecord()
	switch {
	case f.Write == nil:
		return most * min(contents.PartCount(entry), readRun)
	case longest == 0 || most < maxRun:
		return most
	}
	return max(maxRun, min(sharedRun, longest/itemBytes))
}

// writePiece makes the record of n digests from the one at first on, and waits for it.
func (f *OnFilter) writePiece(t engine.Turn, c *engine.Call, entry *catalog.Entry, v *scratch.Pieces, first, n int) {
	op := record(t, c, entry, contents.PartOf(entry), first, n)
	res := &op.Result
	if f.Write.Codes {
		res.Codes = v.Codes[v.Done : v.Done+n]
	} else {
		res.Bools = v.Found[v.Done : v.Done+n]
	}
	t.Apply([]*door.Op{&op.Op})
	if op.Err != nil {
		c.Answer(t.Unsettled(op.Err))
		return
	}
	if failed := mirrored(t, &op.Op); failed.Kind != answer.None {
		c.Answer(failed)
		return
	}
	switch {
	case errors.Is(res.Err, contents.ErrRetry):
	case f.Write.Codes && res.Done == len(res.Codes):
		v.Done += res.Done // an item without room does not stop the others
		if res.Err == nil {
			c.Rooms = 0
		}
	case res.Failed != nil:
		for i, failed := range res.Failed {
			if failed {
				v.Fail(v.Done+i, f.Write.Failure(res.Err))
			}
		}
		v.Done += res.Done
	case lacksRoom(c, res):
		v.Done += res.Done
	default:
		v.Done += res.Done
		v.Err = res.Err
	}
}
