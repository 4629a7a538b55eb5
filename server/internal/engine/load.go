package engine

// Filters of package codec that are put together before they have a name.

import (
	"errors"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/store"
)

// Staging is a filter of package codec that is being put together and has no name
// yet.
type Staging struct {
	ID    uint64
	Entry *catalog.Entry
	// Have says which parts have come, Left how many have not.
	Have []bool
	Left int
	// Version is what the filter will have, 0 for none.
	Version uint64
}

// StageFilter makes a filter that nobody can see yet. Value is a plan, and LoadPart
// fills its parts; or it is that of store.AppendCreation, and the parts are empty. A
// record of [store.OpReveal] gives it a name, Unstage removes it. The reply
// is what is wrong, None if nothing is.
func (x Contents) StageFilter(create store.Op, value []byte) (*Staging, answer.Reply) {
	entry, failed := x.stageEmpty(create, value)
	if failed.Kind != answer.None {
		return nil, failed
	}
	n := store.PartCount(entry)
	return &Staging{ID: entry.ID, Entry: entry, Have: make([]bool, n), Left: n}, answer.Reply{}
}

// LoadPart fills a part of a staged filter with an encoding. The reply is what is
// wrong, None if nothing is.
func (x Contents) LoadPart(t *Staging, index int, data []byte) answer.Reply {
	e := x.e
	e.leave(x.s)
	if err := store.CheckLevel(data, x.Level()); err != nil {
		return answer.Fail("ERR " + answer.OneLine(err))
	}
	aside := 2 * uint64(len(data)) // the encoding, and what becomes of it
	if !e.Budget.reserve(aside) {
		return answer.Fail(answer.TextOOM)
	}
	defer e.Budget.release(aside)
	p := store.PartAt(t.Entry, uint32(index))
	for at := 0; at < len(data); {
		if x.Stopped() {
			return answer.Fail(TextStopped)
		}
		n := min(len(data)-at, stagePiece)
		op := &door.Op{Part: p, Record: store.Record{ID: t.ID, Index: uint32(index), Body: &store.FilterPiece{Offset: int64(at), Of: uint64(len(data)), Data: data[at : at+n]}}}
		if err := x.apply(op); err != nil {
			return e.unsettled(err)
		}
		if err := op.Result.Err; err != nil {
			return answer.Fail("ERR " + answer.OneLine(err))
		}
		at += n
	}
	t.Have[index] = true
	t.Left--
	return answer.Reply{}
}

// stageFilter is Stage for filters of package codec: header is a plan, and layers
// are the encodings of parts. The id of a secret key in the plan is not trusted.
func (x Contents) stageFilter(header []byte, layers [][]byte) (id uint64, r answer.Reply) {
	plan, err := store.ParsePlan(header)
	if err != nil || 1<<plan.Parts != len(layers) {
		return 0, answer.Fail(textBadData)
	}
	if err := store.CheckEncodings(layers, len(layers)); errors.Is(err, bloomery.ErrTooLarge) {
		return 0, answer.Fail("ERR " + answer.OneLine(err))
	} else if err != nil {
		return 0, answer.Fail(textBadData)
	}
	h, _ := store.HashOf(layers[0]) // they are checked
	plan.KeyID = x.KeyOf(h)
	t, failed := x.StageFilter(store.OpFilterLoad, store.AppendPlan(nil, &plan))
	if failed.Kind != answer.None {
		return 0, failed
	}
	for i, data := range layers {
		if failed := x.LoadPart(t, i, data); failed.Kind != answer.None {
			x.Unstage(t.ID)
			return 0, failed
		}
	}
	return t.ID, answer.Reply{}
}

// stagedBytes is what a staged filter takes besides its data and its name.
const stagedBytes = 192

// KeepStaged keeps a staged filter for the client until it is taken, or the client
// goes. It reports false, and keeps nothing, if there is no room for the name.
func (x Contents) KeepStaged(name string, t *Staging) bool {
	e, s := x.e, x.s
	if s.staged[name] == t {
		return true
	}
	if size := len(name) + stagedBytes; !e.hold(s, size) {
		e.hold(s, -size)
		return false
	}
	if s.staged == nil {
		s.staged = map[string]*Staging{}
	}
	s.staged[name] = t
	return true
}

// Staged returns what the client has staged for a name, nil if that is nothing.
func (x Contents) Staged(name string) *Staging { return x.s.staged[name] }

// TakeStaged is Staged, and what it returns is kept no more.
func (x Contents) TakeStaged(name string) *Staging {
	t := x.s.staged[name]
	if t != nil {
		delete(x.s.staged, name)
		x.e.hold(x.s, -len(name)-stagedBytes)
	}
	return t
}

// DropStaged removes what the client has staged for a name.
func (x Contents) DropStaged(name string) {
	if t := x.TakeStaged(name); t != nil {
		x.Unstage(t.ID)
	}
}

// unstage removes what a client has left without a name.
func (e *Engine) unstage(s *Session) {
	for name, t := range s.staged {
		e.hold(s, -len(name)-stagedBytes)
		op := &door.Op{Record: store.Record{At: e.clock().UnixMilli(), Body: &store.Evict{IDs: []uint64{t.ID}}}}
		ops := []*door.Op{op}
		e.door.Do(ops)
		if !op.Settled {
			e.door.Wait(ops)
		}
	}
	s.staged = nil
}
