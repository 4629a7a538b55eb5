package command

import (
	"errors"

	"github.com/bloomery/bloomery/foreign/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/store"
)

// filter is how a command on one filter runs. Such commands are run in groups:
// all of a group are parsed and their items hashed without a lock, then the
// group takes the filter's lock once.
type filter struct {
	family *family
	// parse checks the arguments and sets items, or answers. It sees the
	// configured parameters and no state.
	// nil means that all arguments behind the key are items.
	parse func(*Call, *Defaults)
	// read answers from the filter, under its read lock.
	read func(*store.Part, *Call, *Workspace)
	// contains marks a read that asks which of its items are there: it has no
	// read of its own. Groups of such reads ask for all items at once.
	contains bool
	// single marks a command of one item, answered by a single value.
	single bool
	// write is what a write does; its record is made by prepare.
	write *write
	// absent and foreign answer when there is no such key, and when it holds
	// something else. A nil absent creates the key, a nil foreign is WRONGTYPE.
	absent  func(*Engine, *Call)
	foreign func(*Call)
}

// write is the part of a filter command that changes the filter.
type write struct {
	op store.Op
	// reply turns the result of the record into the answer. OpAdd has its own.
	reply func(*Call, *store.Result)
	// create makes the record for a key that is not there.
	create func(*Engine, *Call) store.Record
}

// options is what commands with options keep from parse until they are run.
type options struct {
	bloom    redisbloom.BloomParams
	cuckoo   redisbloom.CuckooParams
	set      uint8 // which parameters were given
	noCreate bool
	position int64
}

// runFilter runs a group: calls of one kind on one key, all reading or all
// writing.
func (e *Engine) runFilter(s *Session, calls []Call) {
	f, d := calls[0].cmd.filter, e.Settings.defaults.Load()
	for i := range calls {
		c := &calls[i]
		if g := c.cmd.filter; g.parse != nil {
			g.parse(c, d)
		} else {
			c.items = c.Args[2:]
		}
	}
	hashed, narrow := false, false
	for i := 0; i < len(calls); {
		i += skipAnswered(calls[i:])
		if i == len(calls) {
			return
		}
		entry := e.state.Names.Lookup(calls[i].Args[1], s.ms)
		if entry == nil {
			e.runAbsent(s, &calls[i])
			continue
		}
		if entry.Kind != f.family.kind {
			runForeign(&calls[i])
			continue
		}
		p := store.PartOf(entry)
		if now := f.family.narrow(p); !hashed || now != narrow {
			hashed, narrow = true, now
			s.w.hash(calls[i:], narrow)
		}
		if f.write == nil {
			e.runReads(s.w, p, calls[i:])
			continue
		}
		e.runWrites(s.w, entry, p, calls[i:])
	}
}

func skipAnswered(calls []Call) int {
	for i := range calls {
		if !calls[i].answered {
			return i
		}
	}
	return len(calls)
}

// runAbsent answers a call whose key is not there, or creates the key.
func (e *Engine) runAbsent(s *Session, c *Call) {
	f := c.cmd.filter
	if f.absent != nil {
		f.absent(e, c)
		if c.answered {
			return
		}
	}
	r := f.write.create(e, c)
	r.Name, r.At = c.Args[1], s.ms
	res, ok := e.createFilter(&r)
	if !ok {
		c.answer(fail(textOOM))
		return
	}
	if res.Err != nil && !errors.Is(res.Err, store.ErrExists) {
		c.answer(fail(textNoMemory))
	}
}

// createFilter puts a record that makes a filter through the door. It reports
// false if there is no memory for it.
func (e *Engine) createFilter(r *store.Record) (store.Result, bool) {
	size, err := store.NewBytes(r)
	if err != nil {
		return store.Result{Err: err}, true
	}
	cost := uint64(store.NewCost(r.Name, size))
	if !e.Budget.reserve(cost) {
		return store.Result{}, false
	}
	defer e.Budget.release(cost)
	op := door.Op{Record: *r}
	e.do(&op)
	return op.Result, true
}

func runForeign(c *Call) {
	if f := c.cmd.filter.foreign; f != nil {
		f(c)
		return
	}
	c.answer(fail(textWrongType))
}

// hash makes the digests of all items of calls that are not answered, one after
// the other.
func (w *Workspace) hash(calls []Call, narrow bool) {
	for i := range calls {
		if c := &calls[i]; !c.answered {
			c.cmd.filter.family.hash(w, c, narrow)
		}
	}
}

// runReads answers calls under the read lock of p. It answers none if the filter
// is gone.
func (e *Engine) runReads(w *Workspace, p *store.Part, calls []Call) {
	contains := true
	for i := range calls {
		contains = contains && calls[i].cmd.filter.contains && !calls[i].answered
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
		switch c := &calls[i]; {
		case c.answered:
		case c.cmd.filter.contains:
			w.contains(p, calls[i:i+1])
		default:
			c.cmd.filter.read(p, c, w)
		}
	}
}

// contains asks p for all items of calls at once. Their digests stand one after
// the other.
func (w *Workspace) contains(p *store.Part, calls []Call) {
	first, last := calls[0].first, &calls[len(calls)-1]
	n := last.first + len(last.items) - first
	found := w.takeBools(n)
	calls[0].cmd.filter.family.contains(w, p, found, first)
	for i := range calls {
		c := &calls[i]
		answerBools(c, found[c.first-first:][:len(c.items)])
	}
}

// answerBools answers a single value or an array, as the command does.
func answerBools(c *Call, v []bool) {
	c.answered = true
	c.Reply.Text = ""
	if c.cmd.filter.single {
		c.Reply.Kind, c.Reply.N = Bool, 0
		if v[0] {
			c.Reply.N = 1
		}
		return
	}
	c.Reply.Kind, c.Reply.Bools = Bools, v
}

// runWrites puts the records of calls through the door. Calls that it leaves
// unanswered are to be tried again: the filter is gone.
func (e *Engine) runWrites(w *Workspace, entry *catalog.Entry, p *store.Part, calls []Call) {
	if calls[0].cmd.filter.write.op == store.OpAdd {
		e.runAdds(w, entry, p, calls)
		return
	}
	ops, refs := w.takeOps(len(calls))
	n := 0
	for i := range calls {
		c := &calls[i]
		if c.answered {
			continue
		}
		op := &ops[n]
		n++
		r := &op.Record
		r.Op, r.ID, r.Index = c.cmd.filter.write.op, entry.ID, 0
		r.Digests, r.Hashes = nil, w.hashes[c.first:c.first+len(c.items)]
		r.Limit, r.Room = e.Settings.MaxExpansions(), 0
		op.Part, op.Admit = p, nil
		op.Result.Bools, op.Result.Codes = nil, nil
		switch r.Op {
		case store.OpInsert, store.OpInsertNew:
			op.Admit = &e.Budget
			op.Result.Codes = w.takeCodes(len(c.items))
		case store.OpDelete:
			op.Result.Bools = w.takeBools(len(c.items))
		default: // has no answers of its own
		}
	}
	e.door.Ready()
	e.door.Do(refs[:n])
	e.door.Wait(refs[:n])
	n = 0
	for i := range calls {
		c := &calls[i]
		if c.answered {
			continue
		}
		res := &ops[n].Result
		n++
		if errors.Is(res.Err, store.ErrRetry) {
			continue
		}
		c.answered = true
		c.cmd.filter.write.reply(c, res)
	}
}

// runAdds is runWrites for additions to a Bloom filter: calls that follow each
// other make one record.
func (e *Engine) runAdds(w *Workspace, entry *catalog.Entry, p *store.Part, calls []Call) {
	for len(calls) > 0 {
		if calls[0].answered {
			calls = calls[1:]
			continue
		}
		n := 1
		for n < len(calls) && !calls[n].answered {
			n++
		}
		done, again := e.add(w, entry, p, calls[:n])
		if again {
			return
		}
		calls = calls[done:]
	}
}

// add makes one record of calls and returns how many of them it answered: all,
// or those up to the first that failed. It reports again if the filter is gone.
func (e *Engine) add(w *Workspace, entry *catalog.Entry, p *store.Part, calls []Call) (done int, again bool) {
	first, last := calls[0].first, &calls[len(calls)-1]
	n := last.first + len(last.items) - first
	ops, refs := w.takeOps(1)
	op := &ops[0]
	op.Record.Op, op.Record.ID, op.Record.Index = store.OpAdd, entry.ID, 0
	op.Record.Digests, op.Record.Hashes = w.digests[first:first+n], nil
	op.Record.Room = 0
	op.Part, op.Admit = p, &e.Budget
	op.Result.Bools = w.takeBools(n)
	e.door.Ready()
	e.door.Do(refs)
	e.door.Wait(refs)
	res := &op.Result
	switch {
	case errors.Is(res.Err, store.ErrRetry):
		return 0, true
	case errors.Is(res.Err, door.ErrMemory) && len(calls) > 1:
		// Together they may need more than is left, and one by one not.
		for i := range calls {
			if _, again := e.add(w, entry, p, calls[i:i+1]); again {
				return i, true
			}
		}
		return len(calls), false
	}
	for i := range calls {
		c := &calls[i]
		from := c.first - first
		if res.Err == nil || from+len(c.items) <= res.Done {
			answerBools(c, res.Bools[from:from+len(c.items)])
			continue
		}
		answerAddError(c, res, res.Bools[from:max(from, res.Done)])
		return i + 1, false
	}
	return len(calls), false
}

// answerAddError answers a call of which an item could not be added. The array
// ends there, with the error as its last element.
func answerAddError(c *Call, res *store.Result, before []bool) {
	text := textGrowth
	switch {
	case errors.Is(res.Err, door.ErrMemory):
		c.answer(fail(textOOM))
		return
	case errors.Is(res.Err, redisbloom.ErrFull):
		text = textFull
	}
	if c.cmd.filter.single {
		c.answer(fail(text))
		return
	}
	c.answer(Reply{Kind: Bools, Bools: before, Text: text})
}
