package staging

// Dumps and encodings that become filters.

import (
	"errors"

	"github.com/zeebo/xxh3"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/store"
)

// pieceBytes is how many bytes of a filter one record holds.
const pieceBytes = 256 << 10

// Load makes contents of a kind, which will have a name, from the header of a dump and its
// layers: the long part of a RESTORE. The reply says what is wrong, and is None if nothing is.
func (a Area) Load(name []byte, kind catalog.Kind, header []byte, layers [][]byte) (id uint64, failed answer.Reply) {
	if kind == catalog.Filter {
		return a.loadFilter(name, header, layers)
	}
	if kind == catalog.Layers && a.run.Level() < store.LevelLayers {
		return 0, answer.Fail(answer.NeedsUpgrade("kind layers"))
	}
	entry, failed := a.empty(a.state.Place(store.StageDump(kind, header), name))
	if failed.Kind != answer.None {
		return 0, failed
	}
	if failed := a.loadLayers(entry, layers); failed.Kind != answer.None {
		a.Drop(entry.ID)
		return 0, failed
	}
	return entry.ID, answer.Reply{}
}

// loadLayers fills contents with the layers of a dump.
func (a Area) loadLayers(entry *catalog.Entry, layers [][]byte) answer.Reply {
	p, position := contents.PartOf(entry), int64(1)
	for _, data := range layers {
		for len(data) > 0 {
			if a.run.Stopped() {
				return answer.Fail(answer.TextStopped)
			}
			n := min(len(data), pieceBytes)
			position += int64(n)
			body, grows := store.DumpPiece(entry.Kind, position, data[:n])
			release, failed := a.run.ReserveFor(p, grows)
			if failed.Kind != answer.None {
				return failed
			}
			res, failed := a.run.ApplyUnseen(p, store.Record{ID: entry.ID, Body: body})
			release()
			switch {
			case failed.Kind != answer.None:
				return failed
			case res.Err != nil:
				return answer.Fail(textBadData)
			}
			data = data[n:]
		}
	}
	return answer.Reply{}
}

// Staged is a filter of package codec that is being put together and has no name yet.
type Staged struct {
	ID    uint64
	Entry *catalog.Entry
	// Left is how many parts have not come.
	Left int
	// Version is what the filter will have, 0 for none.
	Version uint64
	// Generation is the length of a generation in milliseconds, 0 if the filter is no window.
	Generation int64
	// Source is whose summary is the first of the filter, "" if it is no union of sources.
	Source string

	first []byte   // the header of the first part that came
	sums  []uint64 // of the parts that have come, 0 for the others
}

// Parts returns how many parts the filter has.
func (t *Staged) Parts() int { return len(t.sums) }

// Has reports whether a part has come, and whether it was the same data: then it was sent again.
func (t *Staged) Has(index int, data []byte) (some, same bool) {
	return t.sums[index] != 0, t.sums[index] == sumOf(data)
}

// Came notes that a part has come, which was not there.
func (t *Staged) Came(index int, data []byte) {
	t.sums[index] = sumOf(data)
	t.Left--
}

// sumOf returns a checksum that is not 0.
func sumOf(data []byte) uint64 { return max(1, xxh3.Hash(data)) }

// Fits returns an error unless data can be the encoding of a part beside those that have come.
func (t *Staged) Fits(data []byte) error {
	return contents.CheckEncodings([][]byte{t.first, data}, len(t.sums))
}

// Begin makes a filter, which will have a name, whose parts LoadPart fills; part is the
// encoding of one of them, and was checked. The reply is what is wrong, None if nothing is.
func (a Area) Begin(name []byte, plan *contents.Plan, part []byte) (*Staged, answer.Reply) {
	body, err := a.state.StageLoad(plan, name, part)
	if err != nil {
		return nil, answer.Fail("ERR " + answer.OneLine(err))
	}
	t, failed := a.stage(body)
	if t != nil {
		t.Generation, t.first = plan.Generation, contents.HeaderOf(part)
	}
	return t, failed
}

// Blank makes a filter, which will have a name, whose parts are empty. The reply is what is
// wrong, None if nothing is.
func (a Area) Blank(name []byte, plan *contents.Plan, outline []byte) (*Staged, answer.Reply) {
	return a.stage(a.state.Place(store.StageFilter(plan, outline), name))
}

func (a Area) stage(body *store.Stage) (*Staged, answer.Reply) {
	entry, failed := a.empty(body)
	if failed.Kind != answer.None {
		return nil, failed
	}
	n := contents.PartCount(entry)
	return &Staged{ID: entry.ID, Entry: entry, sums: make([]uint64, n), Left: n}, answer.Reply{}
}

// LoadPart fills a part of a staged filter with an encoding. The reply is what is
// wrong, None if nothing is.
func (a Area) LoadPart(t *Staged, index int, data []byte) answer.Reply {
	if err := store.CheckLevel(data, a.run.Level()); err != nil {
		return answer.Fail("ERR " + answer.OneLine(err))
	}
	p := contents.PartAt(t.Entry, uint32(index))
	release, failed := a.run.ReserveFor(p, contents.RoomFor(data))
	if failed.Kind != answer.None {
		return failed
	}
	defer release()
	for at := 0; at < len(data); {
		if a.run.Stopped() {
			return answer.Fail(answer.TextStopped)
		}
		n := min(len(data)-at, pieceBytes)
		piece := &store.FilterPiece{Offset: int64(at), Of: uint64(len(data)), Data: data[at : at+n]}
		res, failed := a.run.ApplyUnseen(p, store.Record{ID: t.ID, Index: uint32(index), Body: piece})
		switch {
		case failed.Kind != answer.None:
			return failed
		case res.Err != nil:
			return answer.Fail("ERR " + answer.OneLine(res.Err))
		}
		at += n
	}
	if err := p.CheckReach(); err != nil {
		return answer.Fail("ERR the filter is not loaded: " + answer.OneLine(err))
	}
	t.Came(index, data)
	return answer.Reply{}
}

// Copy makes a filter, which will have a name, of the parts of another one as read returns them, one by one. They are
// counted for the reply until they are stored. The reply is what is wrong, None if nothing is.
func (a Area) Copy(name []byte, entry *catalog.Entry, read func(index uint32) ([]byte, answer.Reply)) (id uint64, failed answer.Reply) {
	known, n := contents.PartOf(entry).Plan(), contents.PartCount(entry)
	if known == nil {
		return 0, answer.Fail(answer.TextNotFound)
	}
	plan := *known
	var t *Staged
	for i := range n {
		data, failed := read(uint32(i))
		if failed.Kind == answer.None && t == nil {
			h, _ := contents.HashOf(data)
			plan.KeyID = a.state.Keys().ID(h)
			t, failed = a.Begin(name, &plan, data)
		}
		if failed.Kind == answer.None {
			failed = a.LoadPart(t, i, data)
		}
		a.run.Unhold(len(data))
		if failed.Kind != answer.None {
			if t != nil {
				a.Drop(t.ID)
			}
			return 0, failed
		}
	}
	return t.ID, answer.Reply{}
}

// loadFilter is Load for filters of package codec: header is a plan, and layers
// are the encodings of parts. The id of a secret key in the plan is not trusted.
func (a Area) loadFilter(name, header []byte, layers [][]byte) (id uint64, failed answer.Reply) {
	plan, err := contents.ParsePlan(header)
	if err != nil || 1<<plan.Parts != len(layers) {
		return 0, answer.Fail(textBadData)
	}
	if err := contents.CheckEncodings(layers, len(layers)); errors.Is(err, bloomery.ErrTooLarge) {
		return 0, answer.Fail("ERR " + answer.OneLine(err))
	} else if err != nil {
		return 0, answer.Fail(textBadData)
	}
	h, _ := contents.HashOf(layers[0]) // they are checked
	plan.KeyID = a.state.Keys().ID(h)
	if a.run.Level() < store.LevelNews { // no other node could read it
		plan.News = 0
	}
	t, failed := a.Begin(name, &plan, layers[0])
	if failed.Kind != answer.None {
		return 0, failed
	}
	for i, data := range layers {
		if failed := a.LoadPart(t, i, data); failed.Kind != answer.None {
			a.Drop(t.ID)
			return 0, failed
		}
	}
	return t.ID, answer.Reply{}
}
