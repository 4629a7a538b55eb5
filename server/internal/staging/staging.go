// Package staging is where contents are put together that nobody sees yet: filters that
// are loaded, sums of sketches, compressed copies of digests, and shadows. All of it takes
// long and is done in pieces, outside the gate; a record puts the result in its place.
//
//	Load, Begin, Blank ── LoadPart ──┐
//	Merge ── sums, piece by piece ───┼─► store.Reveal gives it a name, or Drop removes it
//	Compress ── a copy ──────────────┘   (a digest takes the place of its part)
package staging

import (
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/store"
)

// Run is the command that stages something, as far as that has to be known here.
type Run interface {
	// ApplyUnseen puts a record in order, outside the gate: nobody can see what it
	// changes. The reply reports that it was not kept, and is None if it was. ApplyPiece
	// is the same for what others see: it enters the gate for that alone.
	ApplyUnseen(p *contents.Part, r store.Record) (store.Result, answer.Reply)
	ApplyPiece(p *contents.Part, r store.Record) (store.Result, answer.Reply)
	// ApplyAll is ApplyPiece for ops of several parts. It returns what came of the first
	// that has failed.
	ApplyAll(ops []*door.Op) (answer.Reply, error)
	// ApplyNew is ApplyUnseen for a record that makes something of so many bytes, for which memory
	// is set aside at all machines that are to have it.
	ApplyNew(r store.Record, size uint64) (store.Result, answer.Reply)
	// Look calls f inside the gate.
	Look(f func())
	// Stopped reports whether the command is to be given up. It is asked between pieces.
	Stopped() bool
	// Killed is Stopped for what is done although the client has left by itself.
	Killed() bool
	// Reserve sets n bytes of memory aside for records. It reports false if there are
	// not so many. Hold counts them for the reply, Unhold gives them back.
	Reserve(n uint64) (release func(), ok bool)
	// ReserveFor is Reserve at all machines that have a part. The reply is what is wrong,
	// None if nothing is.
	ReserveFor(p *contents.Part, n uint64) (release func(), failed answer.Reply)
	Hold(n int) bool
	Unhold(n int)
	// Milliseconds returns the time, since 1970.
	Milliseconds() int64
	// Shared reports whether other machines write, too.
	Shared() bool
	// Level returns the level of the records that are allowed.
	Level() uint64
}

// Area is where a command stages. Make it with New.
type Area struct {
	run   Run
	state *store.State
	admit door.Admitter
}

// New returns where a command stages, which is outside the gate. admit decides how much
// memory items may take.
func New(run Run, state *store.State, admit door.Admitter) Area { return Area{run, state, admit} }

// textBadData is the error of a dump that cannot be.
const textBadData = "ERR Bad data format"

// empty makes contents that nobody can see yet. The reply says what is wrong, and is None
// if nothing is.
func (a Area) empty(body *store.Stage) (*catalog.Entry, answer.Reply) {
	size, err := store.NewBytes(body)
	if err != nil || store.Deep(body) {
		return nil, answer.Fail(textBadData)
	}
	res, failed := a.run.ApplyNew(store.Record{At: a.run.Milliseconds(), Body: body}, size)
	if failed.Kind == answer.None && res.Err != nil {
		failed = answer.Fail(answer.TextOOM)
	}
	return res.Entry, failed
}

// Drop removes contents that never got a name.
func (a Area) Drop(id uint64) {
	// What has no name is past its deadline, catalog.Staged. If the record is lost the next recovery drops it.
	a.run.ApplyUnseen(nil, store.Record{At: a.run.Milliseconds(), Body: &store.Evict{IDs: []uint64{id}}})
}
