package engine

// How calls on filters run.

import (
	"github.com/bloomery/bloomery/internal/rdb"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/store"
)

// Family is what the commands on filters of one kind share.
type Family struct {
	Kind catalog.Kind
	// Hash appends the digests of items, as the filter makes them, to those of the
	// workspace and returns where they begin. It needs no lock: how a filter hashes
	// never changes. Filters of several parts have 64-bit hashes.
	Hash func(w *Workspace, p *store.Part, items [][]byte) (first int)
	// Check, if there is one, is called inside the gate before items are hashed.
	// It may answer calls, and reports whether those that are left are to be run
	// from the beginning again.
	Check func(x *Context, entry *catalog.Entry, calls []Call) (again bool)
	// Contains asks for the digests from the one at first on, one for each of
	// found.
	Contains func(w *Workspace, p *store.Part, found []bool, first int)
	// Fill puts n digests, from the one at first on, into a record.
	Fill func(w *Workspace, items store.Items, first, n int)
	// WriteValue encodes a filter for DUMP, from the header of its dump;
	// ReadValue reads it for RESTORE.
	WriteValue func(w *rdb.Writer, header []byte)
	ReadValue  func(*rdb.Reader) (header []byte, layers [][]byte)
	// Pack, if there is one, takes the place of WriteValue: it writes a whole
	// filter, outside the gate. It reports false if the filter is gone, or the command
	// was stopped.
	Pack func(w *rdb.Writer, entry *catalog.Entry, stopped func() bool) bool
	// Version is that of the encoding of its values.
	Version uint64
	// Settle, if there is one, returns the record that a DUMP makes first, nil for
	// none. The caller holds a lock of the part.
	Settle func(*store.Part) store.Body
}

// OnFilter is how a command on one filter runs. Such commands are run in bundles:
// the items of a bundle are hashed together, and its records take the lock of the
// filter once.
type OnFilter struct {
	Family *Family
	// Parse checks the arguments and sets Items, or answers. It must not look
	// at names: nil means that all arguments behind the key are items.
	Parse func(*Context, *Call)
	// Hash, if there is one, takes the place of that of the family.
	Hash func(w *Workspace, p *store.Part, items [][]byte) (first int)
	// Read answers from the filter, under its read lock.
	Read func(*Context, *store.Part, *Call)
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
	Absent, Foreign func(*Call)
}

// Writing is the part of a filter command that changes the filter.
type Writing struct {
	// Body returns the record, which may be in m, before Fill puts items into it.
	Body func(m *store.Scratch, t Terms) store.Items
	// Deletes reports that the record removes items.
	Deletes bool
	// Merge reports that calls which follow each other make one record.
	Merge bool
	// Codes reports that the result of a record is Codes instead of Bools.
	Codes bool
	// Grows reports that the record may need memory.
	Grows bool
	// Reply turns the result of the record into the answer.
	Reply func(*Call, *store.Result)
	// Failure returns the text of an error of an item: for filters of several
	// parts.
	Failure func(error) string
	// Create makes the record for a key that is not there.
	Create func(*Context, *Call) store.Body
}

// Terms are what a record depends on besides its items.
type Terms struct {
	// MaxFilters is how many sub-filters a CF may have, 0 for any number.
	MaxFilters uint64
	// Resumes reports that the rest is prepared again if there is too little room: the
	// record stops at the first item that needs more.
	Resumes bool
}

// hash returns what appends the digests of items to those of the workspace.
func (f *OnFilter) hash() func(w *Workspace, p *store.Part, items [][]byte) (first int) {
	if f.Hash != nil {
		return f.Hash
	}
	return f.Family.Hash
}

// checked asks the family whether calls may be run. It reports false if they are not
// to be run now.
func (e *Engine) checked(s *Session, entry *catalog.Entry, calls []Call) bool {
	f := calls[0].cmd.Filter.Family
	if f.Check == nil {
		return true
	}
	if f.Check(&s.ctx, entry, calls) {
		return false
	}
	for i := range calls {
		if calls[i].answered {
			return false // the others are run without it
		}
	}
	return true
}

// maxRun is how many items are looked at under one lock. Commands of more are
// run in pieces, between which others have their turn.
const maxRun = 256

func (f *OnFilter) unfit(e *Engine, s *Session, c *Call, entry *catalog.Entry) {
	switch {
	case entry == nil:
		e.absent(s, c)
	case f.Foreign != nil:
		f.Foreign(c)
	default:
		c.Fail(answer.TextWrongType)
	}
}

func (f *OnFilter) run(e *Engine, s *Session, entry *catalog.Entry, calls []Call) {
	c, w, p := &calls[0], s.w, store.PartOf(entry)
	s.filter = entry.ID
	if f.Write != nil && e.busy(s) {
		return
	}
	if most := p.Run(); most < maxRun {
		if len(c.Items) > most {
			e.runPieces(s, calls[:1], &pieces{})
			return
		}
		calls = together(calls, most) // those behind are run again
	}
	if !e.checked(s, entry, calls) {
		return
	}
	w.reuse()
	w.shadow = e.shadowOf(f, entry)
	apart := !s.alone && isLong(calls)
	if apart {
		e.leave(s)
	}
	for i := range calls {
		c := &calls[i]
		c.first = c.cmd.Filter.hash()(w, p, c.Items)
		if w.shadow != nil {
			w.hashSecond(c.Items, c.first)
		}
	}
	if apart && !e.back(s, c, entry) {
		return
	}
	if f.Write == nil && len(calls) > 1 {
		e.notes.Counters.Looked(&s.Client, true, len(calls)-1)
	}
	last := &calls[len(calls)-1]
	s.weight += last.first + len(last.Items) - c.first + len(calls)
	switch {
	case store.PartCount(entry) > 1:
		e.runParts(s, entry, calls)
	case f.Write == nil:
		e.read(s, p, calls)
	default:
		e.write(s, entry, p, calls)
	}
}

// together returns the first calls that have so many items at most, but one at least.
func together(calls []Call, most int) []Call {
	items := len(calls[0].Items)
	for i := 1; i < len(calls); i++ {
		if items += len(calls[i].Items); items > most {
			return calls[:i]
		}
	}
	return calls
}

// read answers calls under the read lock of p. It answers none if the filter is
// gone.
func (e *Engine) read(s *Session, p *store.Part, calls []Call) {
	w := s.w
	contains := true
	for i := range calls {
		contains = contains && calls[i].cmd.Filter.Contains
	}
	p.RLock()
	defer p.RUnlock()
	if p.Gone() {
		return
	}
	if contains {
		w.contains(p, calls)
		return
	}
	for i := range calls {
		if c := &calls[i]; c.cmd.Filter.Contains {
			w.contains(p, calls[i:i+1])
		} else {
			c.cmd.Filter.Read(&s.ctx, p, c)
		}
	}
}

// contains asks p for all items of calls at once. Their digests stand one after
// the other.
func (w *Workspace) contains(p *store.Part, calls []Call) {
	first, last := calls[0].first, &calls[len(calls)-1]
	found := w.takeBools(last.first + len(last.Items) - first)
	calls[0].cmd.Filter.Family.Contains(w, p, found, first)
	for i := range calls {
		c := &calls[i]
		c.AnswerBools(found[c.first-first:][:len(c.Items)])
	}
}

// First returns where the digests of a call's items begin.
func (c *Call) First() int { return c.first }
