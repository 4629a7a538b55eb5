package store

// CF as contents of a part.

import (
	"errors"
	"slices"

	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
)

// cuckoo is a CF as contents. It is one pointer: an interface holds it without
// an allocation.
type cuckoo struct{ *redisbloom.Cuckoo }

var _ Contents = cuckoo{}

// Cuckoo returns the CF of a part, nil if it is of another kind. It belongs to
// the lock of p.
func (p *Part) Cuckoo() *redisbloom.Cuckoo {
	c, _ := p.contents.(cuckoo)
	return c.Cuckoo
}

func (cuckoo) Kind() catalog.Kind { return catalog.Cuckoo }

// Growth returns at most 2^62. Whether an insert makes a cuckoo filter grow is
// seen only when it is tried.
func (c cuckoo) Growth(n int) (most uint64, sure bool) {
	const (
		limit = 1 << 62
		extra = 8 << 10 // what a filter of many sub-filters keeps besides
	)
	step := c.GrowBytes()
	if step == 0 {
		return 0, false
	}
	if c.Expansion() == 1 {
		return min(step*uint64(n)+extra, limit), false
	}
	sum := uint64(extra)
	for range n {
		if sum += step; sum > limit || step > limit {
			return limit, false
		}
		step *= uint64(c.Expansion())
	}
	return sum, false
}

func (c cuckoo) Freeze() (Frozen, error) { return c.Cuckoo.Freeze() }

func (c cuckoo) ScanDump(iter int64) (next int64, chunk []byte) {
	next, chunk, _ = c.Cuckoo.ScanDump(iter)
	return next, chunk
}

func (c cuckoo) Apply(r *Record, res *Result) (grown int64) {
	switch r.Op {
	case OpInsert, OpInsertNew, OpInsertFirst, OpInsertNewFirst:
		return c.insert(r, res)
	case OpInsertEach, OpInsertNewEach:
		return c.insertEach(r, res)
	case OpDelete, OpDeleteLazily:
		return c.delete(r, res)
	case OpCompact:
		before := c.Bytes()
		c.Compact()
		res.Changed = true
		return int64(c.Bytes()) - int64(before)
	case OpCompactPiece:
		return c.compactPiece(r, res)
	case OpCuckooChunk:
		res.Err = c.LoadChunk(r.Position, r.Value)
		res.Changed = res.Err == nil && len(r.Value) > 0
	default:
		res.Err = ErrType
	}
	return 0
}

func (c cuckoo) insert(r *Record, res *Result) (grown int64) {
	if r.Limit > 0 && uint64(c.Filters()) >= r.Limit {
		res.Err = ErrExpansions
		return 0
	}
	if cap(res.Codes) < len(r.Hashes) {
		res.Codes = make([]redisbloom.Result, len(r.Hashes))
	}
	res.Codes = res.Codes[:len(r.Hashes)]
	before, items, filters := c.Bytes(), c.Items(), c.Filters()
	insert := c.InsertDigests
	if r.Op == OpInsertNew || r.Op == OpInsertNewFirst {
		insert = c.InsertNXDigests
	}
	stops := r.Op == OpInsertFirst || r.Op == OpInsertNewFirst
	for res.Done < len(r.Hashes) {
		// What has no room does not stop the others, which may find a slot.
		n, err := insert(res.Codes[res.Done:], r.Hashes[res.Done:], r.Room-(c.Bytes()-before))
		res.Done += n
		if stops && errors.Is(err, redisbloom.ErrBudget) {
			res.Err = err
			break
		}
		if res.Err == nil {
			res.Err = err
		}
		if res.Done < len(r.Hashes) {
			res.Codes[res.Done] = redisbloom.Refused
			res.Done++
		}
	}
	res.Changed = c.Items() != items
	if c.Filters() != filters {
		grown = int64(c.Bytes()) - int64(before)
	}
	return grown
}

// insertEach inserts digests each of which is a command of its own.
func (c cuckoo) insertEach(r *Record, res *Result) (grown int64) {
	if cap(res.Codes) < len(r.Hashes) {
		res.Codes = make([]redisbloom.Result, len(r.Hashes))
	}
	res.Codes = res.Codes[:len(r.Hashes)]
	before, items, filters := c.Bytes(), c.Items(), c.Filters()
	for res.Done < len(r.Hashes) {
		n := len(r.Hashes) - res.Done
		if r.Limit > 0 {
			if uint64(c.Filters()) >= r.Limit {
				res.Err = ErrExpansions
				break
			}
			// An item adds one sub-filter at most: so many cannot pass the limit.
			n = int(min(uint64(n), r.Limit-uint64(c.Filters())))
		}
		codes, hashes, room := res.Codes[res.Done:res.Done+n], r.Hashes[res.Done:res.Done+n], r.Room-(c.Bytes()-before)
		var done int
		var err error
		if r.Op == OpInsertNewEach {
			done, err = c.InsertNXDigests(codes, hashes, room)
		} else {
			done, err = c.InsertDigests(codes, hashes, room)
		}
		res.Done += done
		if err != nil {
			res.Err = err
		}
		if done < n {
			break
		}
	}
	res.Changed = c.Items() != items
	if c.Filters() != filters {
		grown = int64(c.Bytes()) - int64(before)
	}
	return grown
}

func (c cuckoo) delete(r *Record, res *Result) (grown int64) {
	if cap(res.Bools) < len(r.Hashes) {
		res.Bools = make([]bool, len(r.Hashes))
	}
	res.Bools = res.Bools[:len(r.Hashes)]
	before, filters := c.Bytes(), c.Filters()
	if r.Op == OpDelete {
		c.DeleteDigests(res.Bools, r.Hashes)
	} else if c.DeleteDigestsLazily(res.Bools, r.Hashes, r.Limit) {
		res.N = 1
	}
	res.Changed, res.Done = slices.Contains(res.Bools, true), len(r.Hashes)
	if c.Filters() != filters {
		grown = int64(c.Bytes()) - int64(before)
	}
	return grown
}

// compactPiece does a piece of a compaction. The result says where the next one
// goes on: Done is the sub-filter, 0 at the end, and N the slot.
func (c cuckoo) compactPiece(r *Record, res *Result) (grown int64) {
	before := c.Bytes()
	next, changed := c.CompactPiece(redisbloom.Place{Filter: r.Limit, Slot: uint64(r.Position)}, r.Room)
	res.Changed, res.Done, res.N = changed, int(next.Filter), int64(next.Slot)
	return int64(c.Bytes()) - int64(before)
}

func cuckooBytes(r *Record) (uint64, error) { return r.Cuckoo.Bytes() }

func newCuckoo(r *Record, m *redisbloom.Memory) (Contents, error) {
	p := r.Cuckoo
	p.Memory = m
	c, err := redisbloom.NewCuckoo(p)
	return cuckoo{c}, err
}

func cuckooDumpBytes(r *Record) (uint64, error) {
	h, err := redisbloom.ParseCuckooHeader(r.Value)
	if err != nil {
		return 0, err
	}
	return h.Bytes(), nil
}

func newCuckooDump(r *Record, m *redisbloom.Memory) (Contents, error) {
	h, err := redisbloom.ParseCuckooHeader(r.Value)
	if err != nil {
		return nil, err
	}
	c, err := h.New(m)
	return cuckoo{c}, err
}

// cuckooLoader is a Loader of a CF.
type cuckooLoader struct {
	*redisbloom.Loader[*redisbloom.Cuckoo]
}

func loadCuckoo(first []byte, size int64, m *redisbloom.Memory) (Loader, error) {
	l, err := redisbloom.NewCuckooLoader(first, size, m)
	return cuckooLoader{l}, err
}

func (l cuckooLoader) Done() (Contents, error) {
	c, err := l.Loader.Done()
	return cuckoo{c}, err
}
