// Package bundle is how commands run on the items of one filter or of one sketch: their calls
// are hashed together and make one record, those of very many items are run in pieces.
//
//	engine ─► Unfit, or Run ─┬─ read, ask            answers under the lock of a part
//	                         ├─ write ─► Settled     records, and what became of them
//	                         └─ RunPieces            some items at a time
//
// The engine gathers the calls, finds their key and puts their records in order; it knows
// neither filters nor sketches. This package knows no command.
package bundle

import (
	"slices"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/health"
	"github.com/bloomery/bloomery/server/internal/scratch"
	"github.com/bloomery/bloomery/server/internal/store"
)

// OnFilter is how a command on one filter runs. Such commands are run in bundles:
// the items of a bundle are hashed together, and its records take the lock of the
// filter once.
type OnFilter struct {
	Family *engine.Family
	// Layers, if there is one, is the family of layers over filters: the command asks these, too.
	Layers *engine.Family
	// Parse checks the arguments and sets Items, or answers. It must not look
	// at names: nil means that all arguments behind the key are items.
	Parse func(*engine.Context, *engine.Call)
	// Hash, if there is one, takes the place of that of the family.
	Hash func(m *scratch.Memory, p *contents.Part, items [][]byte) (first int)
	// Read answers from the filter, under its read lock.
	Read func(*engine.Context, *contents.Part, *engine.Call)
	// Contains marks a read that asks which of its items are there: it has no
	// Read of its own. Bundles of such reads ask for all items at once.
	Contains bool
	// Single marks a command of one item, answered by a single value.
	Single bool
	// Write is what a write does.
	Write *Writing
	// Absent and Foreign answer when there is no such key, and when it holds
	// something else. A nil Absent, or one that does not answer, creates the
	// key; a nil Foreign is WRONGTYPE.
	Absent, Foreign func(*engine.Call)
}

// Writing is the part of a filter command that changes the filter.
type Writing struct {
	// Body returns the record, which may be in m, before Fill puts items into it.
	Body func(m *store.Scratch, t Terms) store.Items
	// Deletes reports that the record removes items.
	Deletes bool
	// Reports reports that the record counts items, and leaves them as they are.
	Reports bool
	// Seeks reports that the record looks for an item everywhere before it adds it.
	Seeks bool
	// Merge reports that calls which follow each other make one record.
	Merge bool
	// Codes reports that the result of a record is Codes instead of Bools.
	Codes bool
	// Grows reports that the record may need memory.
	Grows bool
	// Reply turns the result of the record into the answer.
	Reply func(*engine.Call, *store.Result)
	// Failure returns the text of an error of an item: for filters of several
	// parts.
	Failure func(error) string
	// Create makes the record for a key that is not there.
	Create func(*engine.Context, *engine.Call) store.Body
}

// Terms are what a record depends on besides its items.
type Terms struct {
	// MaxFilters is how many sub-filters a CF may have, 0 for any number.
	MaxFilters uint64
	// Resumes reports that the rest is prepared again if there is too little room: the
	// record stops at the first item that needs more.
	Resumes bool
	// Part is what the record is about, nil for one of several parts, and Items how many it has.
	Part  *contents.Part
	Items int
	// Others is about how many items other records may have that are applied before it and are not in the part yet:
	// math.MaxInt if any number.
	Others int
}

var _ engine.Bundled = (*OnFilter)(nil)

// Of returns how the command of a call runs, which is one on a filter.
func Of(c *engine.Call) *OnFilter { return c.Command().On.(*OnFilter) }

// Bundling implements engine.Bundled.
func (f *OnFilter) Bundling() engine.Bundling {
	b := engine.Bundling{
		Family: f.Family, Layers: f.Layers, Parse: f.Parse, Stride: 1, Most: maxRun, Joins: true,
		Single: f.Single, Records: f.Write != nil, Work: f.work(),
	}
	b.Adds = b.Work == health.Add
	return b
}

// adds reports whether the command adds items.
func (f *OnFilter) adds() bool { return f.Write != nil && !f.Write.Deletes && !f.Write.Reports }

// work returns what calls of the command do to a filter.
func (f *OnFilter) work() health.Work {
	switch {
	case f.Contains:
		return health.Has
	case f.Write == nil && f.Parse == nil:
		return health.Count
	case f.Write == nil, f.Write.Reports:
		return health.Other
	case f.Write.Deletes:
		return health.Delete
	}
	return health.Add
}

// hash returns what appends the digests of items of a call to those of the memory.
func (f *OnFilter) hash(c *engine.Call) func(m *scratch.Memory, p *contents.Part, items [][]byte) (first int) {
	switch {
	case c.Hashed():
		return readHashes
	case f.Hash != nil:
		return f.Hash
	}
	return f.Family.Hash
}

// readHashes is hash for items that are hashes.
func readHashes(m *scratch.Memory, _ *contents.Part, items [][]byte) (first int) {
	first = len(m.Hashes)
	m.Hashes = slices.Grow(m.Hashes, len(items))
	for _, item := range items {
		m.Hashes = append(m.Hashes, engine.Hash(item))
	}
	return first
}

// checked asks the family whether calls may be run. It reports false if they are not
// to be run now.
func (f *OnFilter) checked(t engine.Turn, entry *catalog.Entry, calls []engine.Call) bool {
	if f.Family.Check == nil {
		return true
	}
	if f.Family.Check(t.Context(), entry, calls) {
		return false
	}
	for i := range calls {
		if calls[i].Answered() {
			return false // the others are run without it
		}
	}
	return true
}

// maxRun is how many items are looked at under one lock. Commands of more are
// run in pieces, between which others have their turn.
const maxRun = 256

// Unfit implements engine.Bundled.
func (f *OnFilter) Unfit(t engine.Turn, c *engine.Call, entry *catalog.Entry) {
	switch {
	case entry == nil:
		f.absent(t, c)
	case f.Layers != nil && entry.Kind == f.Layers.Kind:
		runLayers(t, c, entry)
	case f.Foreign != nil:
		f.Foreign(c)
	default:
		c.Fail(answer.TextWrongType)
	}
}

// Run implements engine.Bundled.
func (f *OnFilter) Run(t engine.Turn, entry *catalog.Entry, calls []engine.Call) {
	c, m, p, items := &calls[0], t.Memory(), contents.PartOf(entry), countItems(calls)
	t.Meter(entry)
	if f.Write != nil && (t.Busy() || p.Untouched() && f.adds() && touched(t, entry, items)) {
		return
	}
	if items > 1 {
		most := f.run(t, entry)
		if len(c.Items) > most {
			f.RunPieces(t, calls[:1])
			return
		}
		calls = together(calls, most, items) // those behind are run again
		items = countItems(calls)
	}
	if !f.checked(t, entry, calls) {
		return
	}
	t.Reuse()
	if m.Shadow = f.shadowOf(t, entry); m.Shadow != nil && touched(t, m.Shadow.Entry(), items) {
		return
	}
	apart := isLong(calls) && !t.Context().Alone()
	if apart {
		t.Leave()
	}
	for i := range calls {
		c := &calls[i]
		c.First = Of(c).hash(c)(m, p, c.Items)
		if m.Shadow != nil {
			hashSecond(m, c.Items, c.First)
		}
	}
	if apart && !f.back(t, c, entry) {
		return
	}
	if f.Write == nil && len(calls) > 1 {
		t.Looked(len(calls) - 1)
	}
	t.Weigh(items + len(calls))
	switch {
	case contents.PartCount(entry) > 1:
		runParts(t, entry, calls)
	case f.Write == nil:
		read(t, p, calls)
	default:
		write(t, entry, p, calls)
	}
}

// together returns the first calls, of so many items, that have so many at most, but one at least.
func together(calls []engine.Call, most, items int) []engine.Call {
	for n := len(calls); items > most && n > 1; n-- {
		items -= len(calls[n-1].Items)
		calls = calls[:n-1]
	}
	return calls
}

// read answers calls under the read lock of p. It answers none if the filter is
// gone.
func read(t engine.Turn, p *contents.Part, calls []engine.Call) {
	m := t.Memory()
	all := true
	for i := range calls {
		all = all && Of(&calls[i]).Contains
	}
	p.RLock()
	defer p.RUnlock()
	if p.Gone() {
		return
	}
	if all {
		contains(m, p, calls)
		return
	}
	for i := range calls {
		if c := &calls[i]; Of(c).Contains {
			contains(m, p, calls[i:i+1])
		} else {
			Of(c).Read(t.Context(), p, c)
		}
	}
}

// contains asks p for all items of calls at once. Their digests stand one after
// the other.
func contains(m *scratch.Memory, p *contents.Part, calls []engine.Call) {
	first, last := calls[0].First, &calls[len(calls)-1]
	found := m.Bools(last.First + len(last.Items) - first)
	Of(&calls[0]).Family.Contains(m, p, found, first)
	for i := range calls {
		c := &calls[i]
		c.AnswerBools(found[c.First-first:][:len(c.Items)])
	}
}
